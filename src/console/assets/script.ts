/**
 * All that runs in a browser: it fetches a page again when the server says that something has changed, and puts the
 * parts of it that may change in their places; and it appends output as it comes. Text of a sandbox only ever becomes
 * text, by `textContent` and `append`.
 */
export const SCRIPT = String.raw`'use strict';
(() => {
  const { body } = document;
  const title = document.title;
  const byId = (id) => document.getElementById(id);
  const focusable = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';

  // Questions: told once each, politely.
  let known;
  function tellQuestions() {
    const count = byId('waiting-count');
    if (count === null) return;
    const ids = (count.dataset.questions || '').split(' ').filter(Boolean);
    document.title = ids.length === 0 ? title : '(' + ids.length + ') ' + title;
    const fresh = known === undefined ? [] : ids.filter((id) => !known.has(id));
    known = new Set(ids);
    if (fresh.length === 0) return;
    const link = document.querySelector('main a[href="/approvals/' + CSS.escape(fresh[0]) + '"]');
    const what = link === null ? 'A new question waits for an answer.' : 'New question: ' + link.closest('li').textContent.replace(/\s+/g, ' ').trim();
    byId('announcement').textContent = what;
  }

  // Time that is left, in seconds.
  function tellTime() {
    for (const place of document.querySelectorAll('[data-until]')) {
      const left = Math.max(0, Math.ceil((Date.parse(place.dataset.until) - Date.now()) / 1000));
      const text = left > 0 ? '(' + left + ' s left)' : '(time is up)';
      if (place.textContent !== text) place.textContent = text;
    }
  }

  function replace(place, fresh) {
    const active = document.activeElement;
    const held = place.contains(active) && active !== body;
    const index = held ? [...place.querySelectorAll(focusable)].indexOf(active) : -1;
    const href = held ? active.getAttribute('href') : null;
    const open = new Set([...place.querySelectorAll('details')].flatMap((one, i) => (one.open ? [i] : [])));
    const next = document.adoptNode(fresh);
    [...next.querySelectorAll('details')].forEach((one, i) => { one.open = open.has(i); });
    place.replaceWith(next);
    if (!held) return;
    const links = href === null ? [] : [...next.querySelectorAll('a[href]')];
    const same = links.find((link) => link.getAttribute('href') === href) || next.querySelectorAll(focusable)[index] || byId('main');
    same.focus({ preventScroll: true });
  }

  // What the server sent last, to tell what has changed from what was only counted down here.
  const sources = new Map();
  for (const place of document.querySelectorAll('[data-live]')) sources.set(place.id, place.outerHTML);

  let refreshing = false;
  let again = false;
  async function refresh() {
    if (refreshing) { again = true; return; }
    refreshing = true;
    try {
      for (let times = 0; times === 0 || again; times++) {
        // However often something changes, it is looked for a few times a second.
        if (times > 0) await new Promise((resolve) => setTimeout(resolve, 250));
        again = false;
        const response = await fetch(body.dataset.refresh || location.href, { headers: { 'x-refresh': '1' }, cache: 'no-store' });
        if (response.redirected) { location.reload(); return; }
        byId('gone').hidden = response.status !== 404;
        const page = new DOMParser().parseFromString(await response.text(), 'text/html');
        for (const place of document.querySelectorAll('[data-live]')) {
          const fresh = page.getElementById(place.id);
          if (fresh === null || sources.get(place.id) === fresh.outerHTML) continue;
          sources.set(place.id, fresh.outerHTML);
          replace(place, fresh);
        }
        if (document.querySelector('[data-gone]') !== null)
          for (const field of document.querySelectorAll('#answer button, #answer input, #answer select')) field.disabled = true;
        tellTime();
        tellQuestions();
      }
    } catch {
      // The connection tells when it is lost, and is tried again.
    } finally {
      refreshing = false;
    }
  }

  // Output: at most so many characters are kept here.
  const MAX_CHARACTERS = 500000;
  const output = byId('output');
  let kept = output === null ? 0 : [...output.querySelectorAll('pre')].reduce((sum, { textContent }) => sum + textContent.length, 0);
  function note(text) {
    const place = byId('output-note');
    place.hidden = false;
    if (place.textContent !== text) place.textContent = text;
  }
  function append(stream, text) {
    let run = output.lastElementChild;
    if (run === null || !run.classList.contains(stream)) {
      run = document.createElement('div');
      run.className = 'run ' + stream;
      const name = document.createElement('span');
      name.className = 'stream';
      name.textContent = stream;
      run.append(name, document.createElement('pre'));
      output.append(run);
    }
    run.querySelector('pre').append(text);
    kept += text.length;
  }
  function forgetOldest() {
    if (kept > MAX_CHARACTERS) note('Older output is not shown here any more.');
    while (kept > MAX_CHARACTERS && output.childNodes.length > 0) {
      const oldest = output.firstElementChild;
      const pre = oldest.querySelector('pre');
      const first = pre.firstChild;
      if (first !== null && first.length > kept - MAX_CHARACTERS) {
        const cut = kept - MAX_CHARACTERS;
        kept -= cut;
        first.deleteData(0, cut);
      } else {
        if (first !== null) { kept -= first.length; first.remove(); }
        if (pre.firstChild === null) oldest.remove();
      }
    }
  }
  // Drawn a few times a second, however many pieces come.
  let pieces = [];
  function draw() {
    const atEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 40;
    for (const { stream, text } of pieces) append(stream, text);
    pieces = [];
    forgetOldest();
    if (atEnd) output.scrollTop = output.scrollHeight;
  }
  function take({ stream, text }) {
    if (pieces.length === 0) setTimeout(draw, 50);
    const last = pieces[pieces.length - 1];
    if (last !== undefined && last.stream === stream) last.text += text;
    else pieces.push({ stream, text });
  }

  function listen() {
    const { events, execution } = body.dataset;
    if (events === undefined) return;
    let after = body.dataset.after || '0';
    const query = () => (execution === undefined ? '' : '?' + new URLSearchParams({ execution, after }));
    let source;
    function open() {
      source = new EventSource(events + query());
      source.addEventListener('open', () => { byId('connection').hidden = true; void refresh(); });
      source.addEventListener('error', () => {
        byId('connection').hidden = false;
        // It is not tried again: whoever is signed in no longer is led to where that is done.
        if (source.readyState === EventSource.CLOSED) void refresh();
      });
      source.addEventListener('change', () => void refresh());
      source.addEventListener('output', (event) => {
        after = event.lastEventId;
        take(JSON.parse(event.data));
      });
      source.addEventListener('gap', (event) => {
        after = event.lastEventId;
        note(JSON.parse(event.data).dropped_bytes + ' bytes are not kept any more.');
      });
      source.addEventListener('signed-out', () => { source.close(); location.reload(); });
    }
    open();
    // A page that comes back from the browser's memory has lost its connection.
    addEventListener('pagehide', () => source.close());
    addEventListener('pageshow', (event) => { if (event.persisted) open(); });
  }

  if (output !== null) output.scrollTop = output.scrollHeight;
  tellTime();
  tellQuestions();
  setInterval(tellTime, 1000);
  listen();
})();
`;
