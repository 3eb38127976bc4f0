'use strict';
// Shows the report that stands in #data. All of its strings may be somebody else's: they become text nodes, never markup.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const $ = id => document.getElementById(id);
  const SVG = 'http://www.w3.org/2000/svg';
  const LEVELS = ['note', 'warning', 'error'];
  const ROLES = {here: 'Found here', created: 'Created', destroyed: 'Destroyed', closed: 'Closed', 'event-taken': 'Event received', 'other-thread': 'The other thread'};

  // ---- Elements. The only place where they are made.
  function fill(node, attributes, children) {
    for (const name in attributes) {
      const value = attributes[name];
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? '' : value);
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== false) node.append(child.nodeType ? child : String(child));
    }
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  const number = new Intl.NumberFormat('en');
  const count = n => number.format(n);
  const plural = (n, one, many) => count(n) + ' ' + (n === 1 ? one : many || one + 's');
  function bytes(n) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let i = 0;
    while (n >= 1024 && i < 4) { n /= 1024; ++i; }
    return (i === 0 ? n : n.toFixed(1)) + ' ' + units[i];
  }
  function span(s) {
    if (s < 0.0005) return (s * 1e6).toFixed(0) + ' µs';
    if (s < 1) return +(s * 1e3).toFixed(s < 0.01 ? 2 : 0) + ' ms';
    if (s < 120) return +s.toFixed(2) + ' s';
    if (s < 7200) return +(s / 60).toFixed(1) + ' min';
    return +(s / 3600).toFixed(1) + ' h';
  }
  const first = data.processes[0] || {name: '?', exe: '?', started: 0, end: 0};
  const base = path => path.slice(path.lastIndexOf('/') + 1);

  // ---- Head.
  const t = data.totals;
  function head() {
    const many = data.processes.length > 1;
    const bad = t.errors > 0;
    const program = base(first.exe) || 'this program';
    const found = t.errors ? plural(t.errors, 'error') : t.warnings ? plural(t.warnings, 'warning') : 'No errors';
    const verdict = found + ' in ' + program + (many ? ', ' + plural(data.processes.length, 'process', 'processes') : '');
    document.title = 'rdmacheck: ' + verdict;
    document.body.classList.toggle('bad', bad);
    $('version').textContent = data.version;
    $('verdict').textContent = verdict;
    const words = [data.command || first.exe || data.title];
    if (!many) {
      words.push('pid ' + first.pid + ' on ' + first.host);
      if (first.end > first.started) words.push('ran ' + span(first.end - first.started));
      if (first.ended_by) words.push('ended by ' + first.ended_by);
      else if (first.status !== undefined) words.push('exit status ' + first.status);
    }
    if (first.started) words.push(new Date(first.started * 1000).toISOString().slice(0, 19).replace('T', ' ') + ' UTC');
    $('subject').textContent = words.join(' · ');
    const alive = t.kinds.reduce((sum, kind) => sum + kind[3], 0);
    const tiles = [['errors', t.errors, 's2'], ['warnings', t.warnings, 's1'], ['notes', t.notes, 's0'], ['suppressed', t.suppressed],
      ['objects alive', alive], ['objects created', t.kinds.reduce((sum, kind) => sum + kind[1], 0)]];
    if (t.unlisted) tiles.push(['counted, not listed', t.unlisted]);
    if (many) tiles.push(['processes', data.processes.length]);
    $('tiles').append(...tiles.map(([name, n, level]) => el('li', {}, el('b', {class: n && level}, count(n)), el('span', {}, name))));
  }

  // ---- Stacks.
  function source(frame) {
    const [from, lines] = frame.src;
    return el('div', {class: 'src', tabindex: 0, role: 'group', 'aria-label': 'Source of ' + base(frame.file) + ' at line ' + frame.line},
      lines.map((text, i) => el('div', {class: from + i === frame.line && 'hit'}, el('i', {}, from + i), text || ' ')));
  }
  function where(frame) {
    if (frame.file) return base(frame.file) + (frame.line ? ':' + frame.line : '');
    return frame.m || '';
  }
  function stack(index) {
    let opened = false;
    return el('ol', {class: 'frames', role: 'list'}, (data.stacks[index] || []).map((at, i) => {
      const frame = data.frames[at];
      const name = el('span', {class: 'fn', title: (frame.file ? frame.file + '\n' : '') + (frame.m || '')},
        frame.own ? el('b', {}, frame.f) : frame.f, ' ', where(frame) !== frame.f && el('span', {class: 'loc'}, where(frame)));
      if (!frame.src) return el('li', {class: frame.own ? 'own' : 'lib'}, el('div', {class: 'plainframe'}, el('span', {class: 'num'}, i), name));
      const open = !opened;
      opened = true;
      return el('li', {class: 'own'}, el('details', {class: 'frame', open}, el('summary', {}, el('span', {class: 'num'}, i), name), source(frame)));
    }));
  }
  function place(index) {  // of a stack, for a line of text
    const frames = (data.stacks[index] || []).map(at => data.frames[at]);
    const own = frames.find(frame => frame.own) || frames[0];
    return own ? own.f + (where(own) && where(own) !== own.f ? ' ' + where(own) : '') : '';
  }

  // ---- A rule's page: the little of Markdown that docs/rules.md uses.
  function spans(text) {
    return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map(part => {
      if (part.startsWith('`') && part.length > 1) return el('code', {}, part.slice(1, -1));
      if (part.startsWith('**')) return el('strong', {}, part.slice(2, -2));
      const link = /^\[([^\]]+)\]\(/.exec(part);
      return link ? link[1] : part;
    });
  }
  function markdown(text) {
    return text.split(/^```.*\n([\s\S]*?)^```$/m).flatMap((part, i) => {
      if (i % 2) return [el('pre', {tabindex: 0}, part.replace(/\n$/, ''))];
      return part.split(/\n\s*\n/).filter(p => p.trim()).map(p =>
        /^- /.test(p.trim()) ? el('ul', {}, p.trim().split(/\n- /).map(item => el('li', {}, '• ', spans(item.replace(/^- /, '').replace(/\n\s*/g, ' ')))))
          : el('p', {}, spans(p.trim().replace(/\n/g, ' '))));
    });
  }

  // ---- Findings.
  const shown = {levels: new Set([0, 1, 2]), suppressed: false, words: []};
  const stackText = [];
  function textOfStack(index) {
    if (stackText[index] === undefined) {
      stackText[index] = (data.stacks[index] || []).map(at => data.frames[at].f + ' ' + where(data.frames[at])).join(' ').toLowerCase();
    }
    return stackText[index];
  }
  function haystack(finding) {
    if (finding.text === undefined) {
      finding.text = [finding.rule, LEVELS[finding.sev], finding.msg, finding.at, finding.fn, finding.verb, finding.object, finding.thread, finding.where,
        finding.result, finding.suppressed, ...(finding.related || []).map(other => other[1])].filter(Boolean).join(' ').toLowerCase();
    }
    return finding.text;
  }
  function matches(finding) {
    if (!shown.levels.has(finding.sev)) return false;
    if (finding.suppressed && !shown.suppressed) return false;
    return shown.words.every(word => haystack(finding).includes(word) || (finding.stacks || []).some(([, index]) => textOfStack(index).includes(word)));
  }

  function facts(finding) {
    const rows = [['Object', finding.object], ['State', finding.remark], ['Found in', finding.verb && finding.verb + (finding.result ? ' = ' + finding.result : '')],
      ['Thread', finding.thread], ['Time', finding.time && first.started ? 'after ' + span(finding.time - first.started) : ''],
      ['Count', finding.count !== undefined ? count(finding.count) + (finding.bytes ? ', ' + bytes(finding.bytes) : '') : finding.bytes && bytes(finding.bytes)],
      ['Found', finding.times && plural(finding.times, 'time')], ['Processes', finding.where], ['Suppressed by', finding.suppressed]];
    return el('dl', {class: 'facts'}, rows.filter(row => row[1]).map(([name, value]) => [el('dt', {}, name), el('dd', {class: 'mono'}, value)]));
  }
  function table(heads, rows) {
    return el('table', {class: 'table'}, el('thead', {}, el('tr', {}, heads.map(([name, right]) => el('th', {scope: 'col', class: right && 'r'}, name)))),
      el('tbody', {}, rows.map(cells => el('tr', {}, cells.map((cell, i) => el('td', {class: (heads[i][1] ? 'r' : heads[i][2] ? 'mono' : null)}, cell))))));
  }
  const scrollable = (label, child) => el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label}, child);

  const heading = (rule, role) => rule === 'blocked-destroy' && role === 'other-thread' ? 'The thread stands here' : ROLES[role] || role;

  function body(finding) {
    const parts = [facts(finding)];
    for (const hint of finding.hints || []) parts.push(el('p', {class: 'hint'}, hint));
    if (finding.stacks) {
      parts.push(el('div', {class: 'stacks'}, finding.stacks.map(([role, index]) => el('div', {class: 'stack'}, el('h4', {}, heading(finding.rule, role)), stack(index)))));
    }
    const related = [...(finding.related || []), ...(finding.more || [])];
    if (related.length) {
      parts.push(scrollable('Related objects', table([['Role'], ['Object', false, true], ['Created at', false, true]],
        related.slice(0, 250).map(([role, text, index]) => [role, text, index === null ? '' : place(index)]))));
    }
    if (finding.groups) {
      parts.push(scrollable('What the process holds', table([['Kind'], ['Objects', true], ['Bytes', true], ['Created at', false, true]],
        finding.groups.map(([kind, n, size, index]) => [kind, count(n), size ? bytes(size) : '', index === null ? '' : place(index)]))));
    }
    if (finding.calls) {
      parts.push(scrollable('Calls', table([['After', true], ['Took', true], ['Call', false, true], ['Object', false, true], ['Thread', false, true]],
        finding.calls.map(([what, thread, begin, end, object, result]) =>
          [span(Math.max(0, begin - first.started)), end ? span(Math.max(0, end - begin)) : 'inside', what + (result ? ' = ' + result : ''), object, thread]))));
    }
    return el('div', {class: 'body'}, parts);
  }

  function row(finding) {
    const details = el('details', {class: 'finding' + (finding.suppressed ? ' muted' : '')},
      el('summary', {},
        el('span', {class: 'what'}, el('span', {class: 'dot s' + finding.sev, role: 'img', 'aria-label': LEVELS[finding.sev]}), finding.msg,
          finding.count > 1 && el('span', {class: 'badge'}, '× ' + count(finding.count)),
          finding.bytes && el('span', {class: 'badge'}, bytes(finding.bytes)),
          finding.times > 1 && el('span', {class: 'badge'}, count(finding.times) + ' times'),
          finding.suppressed && el('span', {class: 'badge'}, 'suppressed'),
          finding.where && el('span', {class: 'badge'}, finding.where)),
        el('span', {class: 'place'}, finding.fn ? finding.fn + ' ' : '', finding.at || '')));
    details.addEventListener('toggle', () => {
      if (details.open && !details.querySelector('.body')) details.append(body(finding));
    });
    return details;
  }

  function list(all) {
    const STEP = 50;
    const box = el('div', {});
    let at = 0;
    const more = el('button', {class: 'more', type: 'button', onclick: () => add(STEP * 4)});
    function add(n) {
      const next = all.slice(at, at + n).map(row);
      at += next.length;
      more.remove();
      box.append(...next);
      if (at < all.length) {
        more.textContent = 'Show ' + count(Math.min(STEP * 4, all.length - at)) + ' of ' + count(all.length - at) + ' more';
        box.append(more);
      }
      if (n !== STEP && next[0]) next[0].querySelector('summary').focus();
    }
    add(STEP);
    return box;
  }

  function showFindings() {
    const groups = new Map();
    let n = 0;
    for (const finding of data.findings) {
      if (!matches(finding)) continue;
      ++n;
      if (!groups.has(finding.rule)) groups.set(finding.rule, []);
      groups.get(finding.rule).push(finding);
    }
    const worst = findings => findings.reduce((most, finding) => Math.max(most, finding.sev), 0);
    const sorted = [...groups].sort((a, b) => worst(b[1]) - worst(a[1]) || b[1].length - a[1].length);
    $('rules').replaceChildren(...sorted.map(([id, findings]) => {
      const rule = data.rules[id] || {title: ''};
      const help = rule.help && el('details', {class: 'help'}, el('summary', {}, 'What this means, and when it is not reported'));
      const fix = rule.fix && el('p', {class: 'fix'}, 'How to fix: ' + rule.fix);
      if (help) {
        help.addEventListener('toggle', () => {
          if (help.open && help.children.length === 1) help.append(el('div', {}, markdown(rule.help)));
        });
      }
      return el('div', {class: 'rule'}, el('div', {class: 'rulehead'}, el('h3', {class: 's' + worst(findings)}, id), el('span', {class: 'dim'}, rule.title),
        el('span', {class: 'n'}, plural(findings.length, 'finding'))), fix, help, list(findings));
    }));
    const total = data.findings.filter(finding => shown.suppressed || !finding.suppressed).length;
    $('matches').textContent = n === total ? '' : plural(n, 'finding') + ' of ' + count(total) + ' shown';
    if (!data.findings.length) $('rules').replaceChildren(el('p', {class: 'empty'}, 'Nothing was found.'));
  }

  function toggle(name, on, change) {
    const button = el('button', {type: 'button', 'aria-pressed': String(on)}, name);
    button.addEventListener('click', () => {
      const now = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(now));
      change(now);
    });
    return button;
  }
  function filters() {
    [2, 1, 0].forEach(level => {
      const n = data.findings.reduce((sum, finding) => sum + (finding.sev === level && !finding.suppressed), 0);
      if (n) {
        $('filters').append(toggle(LEVELS[level] + 's ' + count(n), true, on => {
          shown.levels[on ? 'add' : 'delete'](level);
          showFindings();
        }));
      }
    });
    const hidden = data.findings.filter(finding => finding.suppressed).length;
    if (hidden) $('filters').append(toggle('suppressed ' + count(hidden), false, on => { shown.suppressed = on; showFindings(); }));
    let timer = 0;
    $('search').addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        shown.words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
        showFindings();
      }, 90);
    });
  }

  // ---- What is alive, as a tree: context → PD → QP …
  function tree() {
    const PREFERRED = ['pd', 'parent_domain', 'context', 'cm_id', 'cm_channel'];
    const rank = kind => (PREFERRED.indexOf(kind) + 1) || 9;
    const nodes = new Map();
    const get = (process, kind, serial) => {
      const key = process + '.' + serial;
      if (!nodes.has(key)) nodes.set(key, {process, kind, serial, children: [], known: false});
      return nodes.get(key);
    };
    const roots = [];
    const rest = [];
    for (const group of data.alive) {
      for (const object of group.objects) {
        const node = get(group.process, group.kind, object.n);
        Object.assign(node, {known: true, text: object.text, age: object.age, remark: object.remark, stack: group.stack, kind: group.kind, up: object.up || []});
      }
      if (group.count > group.objects.length) rest.push(group);
    }
    for (const node of [...nodes.values()]) {
      const up = [...(node.up || [])].sort((a, b) => rank(a[0]) - rank(b[0]))[0];
      if (up) {
        const parent = get(node.process, up[0], up[1]);
        parent.children.push(node);
        node.also = node.up.filter(one => one !== up && one[0] !== 'context').map(one => one[0] + ' #' + one[1]);
      }
    }
    for (const node of nodes.values()) if (!node.up || !node.up.length) roots.push(node);

    function total(node) {
      if (node.total === undefined) {
        node.total = new Map();
        for (const child of node.children) {
          node.total.set(child.kind, (node.total.get(child.kind) || 0) + 1);
          for (const [kind, n] of total(child)) node.total.set(kind, (node.total.get(kind) || 0) + n);
        }
      }
      return node.total;
    }
    const holds = node => [...total(node)].sort((a, b) => b[1] - a[1]).map(([kind, n]) => count(n) + ' ' + kind).join(', ');
    const heading = node => [el('span', {class: 'kind'}, node.kind), ' ', el('span', {class: 'mono'}, node.known ? node.text.slice(node.kind.length + 1) : '#' + node.serial),
      !node.known && el('span', {class: 'dim'}, 'closed or destroyed, or made by a library for itself'),
      node.remark && el('span', {class: 's1'}, node.remark), node.also && node.also.length > 0 && el('span', {class: 'dim'}, 'uses ' + node.also.join(', ')),
      node.stack !== undefined && node.stack !== null && el('span', {class: 'place'}, place(node.stack)),
      node.children.length > 0 && el('span', {class: 'badge'}, holds(node))];

    // Siblings of one kind and one stack stand together once they are more than a few.
    function children(list) {
      const alike = new Map();
      for (const node of list) {
        const key = node.kind + '.' + node.stack + '.' + (node.children.length > 0 ? node.serial : '');
        if (!alike.has(key)) alike.set(key, []);
        alike.get(key).push(node);
      }
      return el('ul', {class: 'tree'}, [...alike.values()].map(some => some.length <= 5 ? some.map(node => el('li', {}, one(node))) : el('li', {}, bundle(some))));
    }
    function lazily(details, make) {
      details.addEventListener('toggle', () => {
        if (details.open && details.children.length === 1) details.append(make());
      });
      return details;
    }
    function bundle(some) {
      return lazily(el('details', {class: 'node'}, el('summary', {}, el('span', {class: 'kind'}, some[0].kind), el('span', {class: 'badge'}, '× ' + count(some.length)),
        el('span', {class: 'place'}, some[0].stack !== null ? place(some[0].stack) : ''))),
      () => el('ul', {class: 'tree'}, some.slice(0, 200).map(node => el('li', {}, one(node))), some.length > 200 && el('li', {class: 'leaf dim'}, count(some.length - 200) + ' more')));
    }
    function one(node, open) {
      const where = node.stack !== undefined && node.stack !== null;
      if (!node.children.length && !where) return el('div', {class: 'leaf'}, heading(node));
      const details = el('details', {class: 'node', open}, el('summary', {}, heading(node)));
      const make = () => el('div', {}, where && lazily(el('details', {class: 'node'}, el('summary', {}, el('span', {class: 'dim'}, 'created by'))), () => stack(node.stack)), node.children.length > 0 && children(node.children));
      if (open) details.append(make());
      return lazily(details, make);
    }

    if (!roots.length && !rest.length) {
      $('tree').append(el('p', {class: 'empty'}, 'No object was alive.'));
      return;
    }
    const byProcess = new Map();
    for (const root of roots) {
      if (!byProcess.has(root.process)) byProcess.set(root.process, []);
      byProcess.get(root.process).push(root);
    }
    for (const [process, list] of [...byProcess].slice(0, 100)) {
      if (byProcess.size > 1) $('tree').append(el('h3', {}, (data.processes[process] || {name: process}).name));
      const weight = node => [...total(node).values()].reduce((a, b) => a + b, 0);
      list.sort((a, b) => weight(b) - weight(a));
      $('tree').append(el('ul', {class: 'tree'}, list.slice(0, 300).map((node, i) => el('li', {}, one(node, i < 3 && byProcess.size < 4)))));
      if (list.length > 300) $('tree').append(el('p', {class: 'dim'}, count(list.length - 300) + ' more are not shown'));
    }
    for (const group of rest) {
      $('tree').append(el('p', {class: 'dim'}, plural(group.count - group.objects.length, 'more ' + group.kind, 'more ' + group.kind) + ' of ' + place(group.stack) + ', counted only'));
    }
  }

  // ---- Timeline: a row a thread; calls above, lifetimes below.
  function timeline() {
    const LANE = 7, CALL = 12, MOST_LANES = 14, MOST_BARS = 4000, LEFT = () => (width() < 600 ? 96 : 190), TOP = 22;
    const width = () => Math.max(280, $('time').clientWidth);
    const withBars = data.processes.map((process, i) => i).filter(i => data.lives.some(life => life[0] === i) || data.calls.some(call => call[0] === i));
    if (!withBars.length) {
      $('time').replaceWith(el('p', {class: 'empty'}, 'The report has no times to show.'));
      return;
    }
    let process = withBars[0], rows, from, to, view;
    const detail = el('p', {class: 'detail mono', role: 'status'}, 'Point at a bar to read what it is.');
    const drawing = svg('svg', {tabindex: 0, role: 'application', 'aria-label': 'Timeline. Arrow keys move, plus and minus zoom, 0 shows all. The table below has the same calls.'});

    function prepare() {
      rows = new Map();
      const rowOf = name => {
        if (!rows.has(name)) rows.set(name, {name, calls: [], lanes: [], hidden: 0, marks: []});
        return rows.get(name);
      };
      const end = data.processes[process].end;
      from = Infinity; to = -Infinity;
      const see = (a, b) => { from = Math.min(from, a); to = Math.max(to, b); };
      for (const [p, what, thread, begin, till, object, result] of data.calls) {
        if (p !== process) continue;
        const stop = Math.max(till || end, begin);
        const destroys = /destroy|dealloc|dereg|close|free/.test(what);
        rowOf(thread).calls.push({begin, end: stop, kind: !till ? 'blocked' : destroys ? 'destroy' : /get_/.test(what) && stop - begin > 0.001 ? 'blocked' : 'call',
          text: what + ' on ' + object + (result ? ' = ' + result : '') + ', ' + (till ? span(stop - begin) : 'had not returned') + ', ' + thread});
        see(begin, stop);
      }
      let bars = 0;
      for (const [p, kind, serial, thread, begin, gone, verb, by] of data.lives) {
        if (p !== process) continue;
        const stop = Math.max(gone || end, begin);
        see(begin, stop);
        const row = rowOf(thread);
        let lane = row.lanes.findIndex(last => last.end <= begin);
        if (lane < 0) lane = row.lanes.length;
        if (lane >= MOST_LANES || bars >= MOST_BARS) { ++row.hidden; continue; }
        ++bars;
        if (!row.lanes[lane]) row.lanes[lane] = {end: 0, bars: []};
        row.lanes[lane].end = stop;
        row.lanes[lane].bars.push({begin, end: stop, alive: !gone, text: kind + ' #' + serial + ', ' + (gone ? 'lived ' + span(stop - begin) + ', ' + (verb || 'destroyed') + ' by ' + by : 'alive since ' + span(stop - begin))});
      }
      for (const finding of data.findings) {
        if ((finding.process || 0) !== process || !finding.time || finding.suppressed) continue;
        const row = rows.get(finding.row);
        if (row && row.marks.length < 500) row.marks.push(finding);
      }
      if (!(to > from)) to = from + 0.001;
      view = [from, to];
    }

    function draw() {
      const w = width(), left = LEFT(), scale = time => left + (time - view[0]) / (view[1] - view[0]) * (w - left - 10);
      const parts = [];
      let y = TOP;
      const clip = (begin, end) => {
        if (end < view[0] || begin > view[1]) return null;
        const a = Math.max(scale(begin), left), b = Math.min(scale(end), w - 4);
        return [a, Math.max(1.5, b - a)];
      };
      const bar = (shape, cls, top, height, text) => shape && parts.push(svg('rect', {x: shape[0].toFixed(1), y: top, width: shape[1].toFixed(1), height, class: cls, 'data-text': text, rx: 1}));
      const body = [];
      for (const row of rows.values()) {
        const tall = CALL + 5 + row.lanes.length * LANE + 6 + (row.hidden ? 12 : 0);
        parts.push(svg('line', {class: 'rowline', x1: 0, x2: w, y1: y, y2: y}));
        const chars = Math.floor((left - 14) / 7.3);
        const short = row.name.replace(/^thread (\d+) \((.*)\)$/, '$2 $1');
        parts.push(svg('text', {class: 'row', x: 10, y: y + 14}, short.length > chars ? short.slice(0, chars - 1) + '…' : short));
        row.calls.forEach(call => bar(clip(call.begin, call.end), call.kind, y + 4, CALL - 2, call.text));
        row.lanes.forEach((lane, i) => lane.bars.forEach(life => bar(clip(life.begin, life.end), life.alive ? 'life a' : 'life', y + 4 + CALL + i * LANE, LANE - 2, life.text)));
        row.marks.forEach(finding => {
          if (finding.time < view[0] || finding.time > view[1]) return;
          const x = scale(finding.time);
          parts.push(svg('path', {class: 'mark' + finding.sev, d: `M${x - 4},${y + 1}h8l-4,6z`, 'data-text': finding.rule + ': ' + finding.msg}));
        });
        if (row.hidden) parts.push(svg('text', {x: left, y: y + tall - 4}, plural(row.hidden, 'more object') + ' at the same time'));
        y += tall;
      }
      const range = view[1] - view[0];
      const rough = range / Math.max(2, (w - left) / 110);
      const power = Math.pow(10, Math.floor(Math.log10(rough)));
      const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
      for (let tick = Math.ceil((view[0] - from) / step) * step; tick <= view[1] - from + step * 1e-6; tick += step) {
        const x = scale(from + tick).toFixed(1);
        body.push(svg('line', {class: 'tick', x1: x, x2: x, y1: TOP - 4, y2: y}), svg('text', {x, y: 14, 'text-anchor': x > w - 40 ? 'end' : 'middle'}, tick === 0 ? '0' : span(tick)));
      }
      drawing.setAttribute('viewBox', `0 0 ${w} ${y}`);
      drawing.setAttribute('height', y);
      drawing.replaceChildren(...body, ...parts);
    }

    function zoom(factor, middle) {
      const at = middle === undefined ? (view[0] + view[1]) / 2 : middle;
      const range = Math.min(to - from, Math.max((to - from) / 1e6, (view[1] - view[0]) * factor));
      let a = at - (at - view[0]) / (view[1] - view[0]) * range;
      a = Math.min(Math.max(a, from), to - range);
      view = [a, a + range];
      draw();
    }
    function pan(part) {
      const range = view[1] - view[0];
      const a = Math.min(Math.max(view[0] + part * range, from), to - range);
      view = [a, a + range];
      draw();
    }
    const all = () => { view = [from, to]; draw(); };
    drawing.addEventListener('keydown', event => {
      const act = {ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), 0: all}[event.key];
      if (act && !event.ctrlKey && !event.metaKey) { act(); event.preventDefault(); event.stopPropagation(); }
    });
    drawing.addEventListener('wheel', event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = drawing.getBoundingClientRect(), left = LEFT();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, view[0] + (event.clientX - box.left - left) / (box.width - left - 10) * (view[1] - view[0]));
    }, {passive: false});
    drawing.addEventListener('pointerover', event => {
      const text = event.target.getAttribute('data-text');
      if (text) detail.textContent = text;
    });
    const key = (cls, text) => el('span', {}, el('i', {class: cls}), text);
    $('time').append(drawing, detail, el('div', {class: 'legend'}, key('sw-a', 'object, still alive'), key('sw-g', 'object, destroyed'), key('sw-c', 'call'),
      key('sw-b', 'waiting in a get, or not returned'), key('sw-d', 'destroy')));
    if (withBars.length > 1) {
      const choice = el('select', {'aria-label': 'Process', onchange: () => { process = +choice.value; prepare(); draw(); }},
        withBars.map(i => el('option', {value: i}, data.processes[i].name)));
      $('timetools').append(choice);
    }
    const tool = (text, label, act) => el('button', {type: 'button', 'aria-label': label, onclick: act}, text);
    $('timetools').append(tool('−', 'Zoom out', () => zoom(2)), tool('+', 'Zoom in', () => zoom(0.5)), tool('←', 'Earlier', () => pan(-0.3)), tool('→', 'Later', () => pan(0.3)), tool('All', 'Show all of the time', all));
    const asTable = el('details', {class: 'help'}, el('summary', {}, 'The same as a table'));
    asTable.addEventListener('toggle', () => {
      if (!asTable.open || asTable.children.length > 1) return;
      const calls = data.calls.map(([p, what, thread, begin, end, object, result]) => [begin, [p, span(Math.max(0, begin - data.processes[p].started)), end ? span(Math.max(0, end - begin)) : 'inside', what + (result ? ' = ' + result : ''), object, thread]]);
      calls.sort((a, b) => a[0] - b[0]);
      asTable.append(scrollable('Calls', table([['After', true], ['Took', true], ['Call', false, true], ['Object', false, true], ['Thread', false, true]],
        calls.slice(-1000).map(call => call[1].slice(1)))));
    });
    if (data.calls.length) $('timeline').append(asTable);
    prepare();
    draw();
    let timer = 0;
    addEventListener('resize', () => { clearTimeout(timer); timer = setTimeout(draw, 120); });
  }

  // ---- Flame graph of live objects by creating stack.
  function flame() {
    const library = window.rdmacheckFlame;
    const weigh = {count: group => group.count, bytes: group => group.bytes};
    let by = 'count';
    if (!data.alive.length) {
      $('flamechart').append(el('p', {class: 'empty'}, 'No object was alive.'));
      return;
    }
    function build() {
      const root = {name: 'all', value: 0, children: []};
      const index = new Map();
      for (const group of data.alive) {
        const value = weigh[by](group);
        if (!value) continue;
        root.value += value;
        let node = root, path = '';
        const names = (data.stacks[group.stack] || []).map(at => data.frames[at]).reverse().map(frame => [frame.f, frame.own, frame.f + ' ' + where(frame)]);
        names.push([group.kind, 2, group.kind]);
        for (const [name, own, title] of names) {
          path += '\n' + name;
          if (!index.has(path)) {
            index.set(path, {name, title, own: own || 0, value: 0, children: []});
            node.children.push(index.get(path));
          }
          node = index.get(path);
          node.value += value;
        }
      }
      return root;
    }
    const amount = value => by === 'bytes' ? bytes(value) : plural(value, 'object');
    // Blue: libraries; amber: the program; green: the kind. All are light enough for dark text in both themes.
    function colour(node) {
      let hash = 7;
      for (const c of node.data.name) hash = (hash * 31 + c.charCodeAt(0)) >>> 0;
      if (node.depth === 0) return '#b9bec5';
      const hue = node.data.own === 2 ? 140 : node.data.own ? 36 : 212;
      return `hsl(${hue + hash % 16} ${node.data.own ? 62 : 34}% ${70 + hash % 9}%)`;
    }
    function draw() {
      const width = Math.max(280, $('flamechart').clientWidth);
      const chart = library.flamegraph().width(width).cellHeight(19).transitionDuration(0).minFrameSize(1).inverted(true).selfValue(false);
      const say = node => node.data.title === undefined ? 'all: ' + amount(node.value) : node.data.title + ': ' + amount(node.value) + ', ' + (node.value / data0.value * 100).toFixed(1) + ' %';
      const data0 = build();
      chart.setColorMapper(colour).setLabelHandler(say).onHover(node => { $('flamedetail').textContent = say(node); });
      const dress = () => {
        for (const frame of $('flamechart').querySelectorAll('g.frame')) {
          const node = frame.__data__;
          fill(frame, {tabindex: 0, role: 'button', 'aria-label': say(node)}, []);
          frame.onfocus = () => { $('flamedetail').textContent = say(node); };
          frame.onkeydown = event => {
            if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); frame.dispatchEvent(new MouseEvent('click', {bubbles: true})); }
          };
        }
      };
      chart.onClick(() => setTimeout(dress, 30));
      $('flamechart').replaceChildren();
      if (!data0.value) {
        $('flamechart').append(el('p', {class: 'empty'}, 'No live object has a size.'));
        return;
      }
      library.select($('flamechart')).datum(data0).call(chart);
      setTimeout(dress, 30);
    }
    const choice = {};
    for (const name of ['count', 'bytes']) {
      choice[name] = el('button', {type: 'button', 'aria-pressed': String(name === by), onclick: () => {
        by = name;
        for (const other in choice) choice[other].setAttribute('aria-pressed', String(other === by));
        draw();
      }}, 'by ' + name);
      $('flametools').append(choice[name]);
    }
    draw();
    let timer = 0, last = $('flamechart').clientWidth;
    addEventListener('resize', () => {
      clearTimeout(timer);
      timer = setTimeout(() => { if ($('flamechart').clientWidth !== last) { last = $('flamechart').clientWidth; draw(); } }, 150);
    });
  }

  function tables() {
    const grown = new Map();
    for (const one of t.growth) if (!grown.has(one.kind)) grown.set(one.kind, one);
    $('kindtable').append(table([['Kind'], ['Created', true], ['Destroyed', true], ['Alive', true], ['Most of them from', false, true]],
      [...t.kinds].sort((a, b) => b[3] - a[3] || b[1] - a[1]).map(([kind, made, gone, alive]) => [kind, count(made), count(gone), count(alive), grown.has(kind) ? place(grown.get(kind).stack) + ', ' + count(grown.get(kind).alive) : ''])));
    $('processtable').append(table([['Process'], ['Program', false, true], ['Host'], ['Time', true], ['End'], ['libibverbs', false, true]],
      data.processes.slice(0, 500).map(p => [p.name, p.exe, p.host, p.end > p.started ? span(p.end - p.started) : '', p.ended_by || (p.status === undefined ? 'running' : 'status ' + p.status), base(p.verbs || '').split(' ')[0]])));
    if (data.processes.length > 500) $('processes').append(el('p', {class: 'dim'}, count(data.processes.length - 500) + ' more'));
    const unwatched = [...new Set(data.processes.flatMap(p => p.unwatched || []))];
    if (unwatched.length) $('processes').append(el('h3', {}, 'Not watched'), el('ul', {}, unwatched.slice(0, 100).map(text => el('li', {class: 'dim'}, text))));
  }

  function keys() {
    const typing = event => /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    addEventListener('keydown', event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Escape' && event.target === $('search')) {
        $('search').value = '';
        $('search').dispatchEvent(new Event('input'));
        $('search').blur();
      }
      if (typing(event)) return;
      if (event.key === '/') {
        event.preventDefault();
        $('search').focus();
      } else if (event.key === 'j' || event.key === 'k') {
        const rows = [...document.querySelectorAll('.finding > summary')];
        if (!rows.length) return;
        const at = rows.indexOf(document.activeElement);
        rows[Math.min(rows.length - 1, Math.max(0, at + (event.key === 'j' ? 1 : -1)))].focus();
      }
    });
  }

  function theme() {
    const modes = ['auto', 'light', 'dark'];
    let mode = 'auto';
    try { mode = localStorage.getItem('rdmacheck-theme') || 'auto'; } catch (e) { /* a file: page may have no storage */ }
    if (!modes.includes(mode)) mode = 'auto';
    const set = () => {
      if (mode === 'auto') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = mode;
      $('theme').textContent = 'Theme: ' + mode;
    };
    $('theme').addEventListener('click', () => {
      mode = modes[(modes.indexOf(mode) + 1) % 3];
      try { localStorage.setItem('rdmacheck-theme', mode); } catch (e) { /* as above */ }
      set();
    });
    set();
  }

  theme();
  head();
  for (const [id, name] of [['findings', 'Findings'], ['alive', 'Alive'], ['timeline', 'Timeline'], ['flame', 'Flame graph'], ['kinds', 'Kinds'], ['processes', 'Processes']]) {
    $('nav').append(el('li', {}, el('a', {href: '#' + id}, name)));
  }
  filters();
  showFindings();
  const open = document.querySelector('.finding');
  if (open && data.findings.length <= 20) open.open = true;
  keys();
  // What is further down may come after the first picture.
  const later = [tree, timeline, flame, tables];
  (function next() {
    const one = later.shift();
    if (!one) { document.body.dataset.ready = '1'; return; }
    try { one(); } catch (error) { console.error(error); }
    setTimeout(next, 0);
  })();
})();
