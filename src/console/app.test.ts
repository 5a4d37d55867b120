import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { SandboxError } from '../errors.ts';
import { proposalHash, type Question } from '../gate/approval/question.ts';
import type { Answer } from '../operations/approvals.ts';
import { consoleApp } from './app.ts';
import { ASSETS } from './assets/assets.ts';
import type { ConsoleBackend, ConsoleKey, ShownExecution } from './backend.ts';

const HOSTILE = '</pre><script>alert(1)</script><a href="javascript:alert(2)">x</a>"\'\u202e\u2028\x1b[31m';

const KEYS: readonly (ConsoleKey & { readonly secret: string })[] = [
  { id: 'k1', name: `person ${HOSTILE}`, scopes: ['approve', 'audit'], secret: 'approve-and-audit' },
  { id: 'k2', name: 'auditor', scopes: ['audit'], secret: 'audit-only' },
  { id: 'k3', name: 'agent', scopes: ['execute'], secret: 'execute-only' },
];

function question(more: Partial<Question> = {}): Question {
  const proposal = {
    operation: 'execute' as const,
    code: { language: 'python', bytes: Buffer.from(HOSTILE) },
    ...{ parameters: { args: [HOSTILE] }, policy: { network: 'none' }, runtime: HOSTILE, sandboxId: 'box' },
  };
  return {
    ...proposal,
    ...{ id: '0123456789abcdef', hash: proposalHash(proposal), sights: [] },
    risk: { level: 'HIGH', ask: true, timeoutSec: 60, description: HOSTILE },
    ...{ askedAt: '2026-01-01T00:00:00.000Z', expiresAt: '2126-01-01T00:00:00.000Z' },
    ...more,
  };
}

const EXECUTION: ShownExecution = {
  ...{ id: `e ${HOSTILE}`, keyName: HOSTILE, sandboxId: HOSTILE, language: HOSTILE, state: 'failed' },
  ...{ startedAt: HOSTILE, endedAt: null },
  error: { code: 'SANDBOX_FAILED', message: HOSTILE, hint: HOSTILE },
  richResults: [{ type: 'result', text: HOSTILE, html: HOSTILE, notes: [HOSTILE] }],
};

interface Given {
  readonly question?: Question;
  readonly askedBy?: string;
  readonly keys?: () => typeof KEYS;
}

function consoleWith({ question: asked = question(), askedBy = 'k3', keys = () => KEYS }: Given = {}) {
  const answers: { id: string; hash: string; answer: Answer; by: string }[] = [];
  const calls: string[] = [];
  let now = Date.parse('2026-01-01T00:00:00Z');
  const waiting = { question: asked, askedBy: { id: askedBy, name: HOSTILE } };
  const backend: ConsoleBackend = {
    authenticate: async (secret) => {
      calls.push('authenticate');
      return keys().find((key) => key.secret === secret);
    },
    key: async (id) => keys().find((key) => key.id === id),
    questions: async () => [waiting],
    question: async (id) => {
      if (id === asked.id) return waiting;
      throw new SandboxError('APPROVAL_EXPIRED', `No question of the id ${id} waits.`, { hint: 'Too late.' });
    },
    answer: async (id, hash, answer, by) => {
      if (hash !== asked.hash)
        throw new SandboxError('APPROVAL_EXPIRED', 'It is another one.', { hint: 'Look.' });
      answers.push({ id, hash, answer, by: by.id });
    },
    grants: async () => [],
    revoke: async (id) => void calls.push(`revoke ${id}`),
    sandboxes: async () => [
      {
        ...{
          id: HOSTILE,
          runtime: HOSTILE,
          language: HOSTILE,
          createdAt: '',
          expiresAt: HOSTILE,
          lastUsedAt: '',
        },
        ...{ running: true, keyName: HOSTILE },
      },
    ],
    executions: async () => [EXECUTION],
    execution: async (id) => (id === EXECUTION.id ? EXECUTION : undefined),
    async *output() {
      yield { type: 'output', stream: 'stderr', text: HOSTILE, next: 1 };
    },
    async *records() {
      const told = { id: HOSTILE, sandbox_id: HOSTILE, operation: HOSTILE, code: HOSTILE };
      yield {
        record: { ...told, seq: 1, hash: 'h', prev: 'p', at: '2026-01-01T00:00:00Z', type: HOSTILE },
        line: '',
      };
    },
    verify: async () => ({
      ...{ records: 1, first: 1, last: { seq: 1, hash: 'abc' }, bytes: 1 },
      flaws: [{ kind: 'changed', file: HOSTILE, line: 1, seq: 1, message: HOSTILE }],
    }),
    receipt: async () => {
      throw new SandboxError('INPUT_INVALID', 'No record of that.', { hint: 'Look.' });
    },
    watch: () => () => {},
  };
  let address = 'here';
  const app = consoleApp(backend, { now: () => now, addressOf: () => address });
  const cookies = new Map<string, string>();
  const ORIGIN = 'http://127.0.0.1:4000';

  async function request(path: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await app.request(`${ORIGIN}${path}`, { ...init, headers: { cookie, ...init.headers } });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    return response;
  }

  const post = (
    path: string,
    form: Record<string, string>,
    headers: Record<string, string> = { origin: ORIGIN },
  ) => request(path, { method: 'POST', body: new URLSearchParams(form), headers });
  const signIn = (secret: string, next = '/') => post('/sign-in', { secret, next });
  const csrf = async (path = '/approvals'): Promise<string> =>
    /name="csrf" value="([^"]+)"/.exec(await (await request(path)).text())?.[1] ?? '';

  return {
    ...{ app, backend, answers, calls, cookies, request, post, signIn, csrf },
    pass: (seconds: number) => {
      now += seconds * 1000;
    },
    comeFrom: (other: string) => {
      address = other;
    },
  };
}

const APPROVE = { answer: 'approve', scope: 'once' };
const PATH = '/approvals/0123456789abcdef';

it('lets in whoever has a key that may approve or read the record, and nobody else', async () => {
  const { signIn, request, cookies } = consoleWith();
  expect((await request('/approvals')).headers.get('location')).toBe('/sign-in?next=%2Fapprovals');
  for (const secret of ['', 'wrong', 'execute-only', 'k1']) {
    const refused = await signIn(secret);
    expect([refused.status, cookies.size]).toEqual([401, 0]);
  }
  const entered = await signIn('approve-and-audit', '/approvals');
  expect([entered.status, entered.headers.get('location')]).toEqual([303, '/approvals']);
  expect(entered.headers.get('set-cookie')).toMatch(
    /^glovebox_session_4000=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  expect((await request('/approvals')).status).toBe(200);
});

it('pins its cookie to https where that is how browsers find it', async () => {
  const { app } = consoleWith();
  const response = await app.request('https://glovebox.example/sign-in', {
    ...{ method: 'POST', headers: { origin: 'https://glovebox.example' } },
    body: new URLSearchParams({ secret: 'audit-only' }),
  });
  expect(response.headers.get('set-cookie')).toMatch(
    /^__Host-glovebox_session=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  );
});

it('goes on only to paths of its own after signing in', async () => {
  for (const next of [
    '//evil.example',
    'https://evil.example',
    '/\\evil.example',
    '/a?b',
    'javascript:alert(1)',
  ]) {
    const { signIn } = consoleWith();
    expect((await signIn('approve-and-audit', next)).headers.get('location')).toBe('/');
  }
});

it('slows down who tries keys from one address, and keeps nobody out who has the right one', async () => {
  const { signIn, comeFrom, request } = consoleWith();
  for (let i = 0; i < 5; i++) expect((await signIn('wrong')).status).toBe(401);
  for (const secret of ['wrong', 'execute-only']) {
    const slowed = await signIn(secret);
    expect([slowed.status, Number(slowed.headers.get('retry-after')) > 50]).toEqual([429, true]);
  }
  expect((await request('/')).headers.get('location')).toBe('/sign-in');
  // Behind a proxy all come from one address.
  expect((await signIn('approve-and-audit')).status).toBe(303);
  comeFrom('elsewhere');
  expect((await signIn('wrong')).status).toBe(401);
});

it('slows down who tries keys from many addresses', async () => {
  const { signIn, comeFrom } = consoleWith();
  const statuses: number[] = [];
  for (let i = 0; i < 101; i++) {
    comeFrom(`address ${i}`);
    statuses.push((await signIn('wrong')).status);
  }
  expect(statuses).toEqual([...Array(100).fill(401), 429]);
});

it('does not count those who have the right key', async () => {
  const { signIn } = consoleWith();
  for (let i = 0; i < 20; i++) expect((await signIn('approve-and-audit')).status).toBe(303);
});

it('does nothing for a form without the token of the session, or of another origin', async () => {
  const { signIn, post, csrf, answers } = consoleWith();
  const form = { ...APPROVE, hash: question().hash };
  expect((await post(PATH, form)).headers.get('location')).toBe('/sign-in');
  await signIn('approve-and-audit');
  const token = await csrf();
  expect((await post(PATH, form)).status).toBe(403);
  expect((await post(PATH, { ...form, csrf: '' })).status).toBe(403);
  expect((await post(PATH, { ...form, csrf: `${token}x` })).status).toBe(403);
  for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:4001', 'https://127.0.0.1:4000'])
    expect((await post(PATH, { ...form, csrf: token }, { origin })).status).toBe(403);
  expect((await post(PATH, { ...form, csrf: token }, {})).status).toBe(403);
  expect(answers).toEqual([]);
  expect((await post(PATH, { ...form, csrf: token })).headers.get('location')).toBe(
    '/approvals?done=approved',
  );
  expect(answers).toEqual([
    { id: '0123456789abcdef', hash: question().hash, answer: { approved: true }, by: 'k1' },
  ]);
});

it('takes no sign-in that another site sends, nor the token of another session', async () => {
  const { post, signIn, csrf, cookies, request } = consoleWith();
  const forged = await post('/sign-in', { secret: 'approve-and-audit' }, { origin: 'http://evil.example' });
  expect([forged.status, cookies.size]).toEqual([403, 0]);
  await signIn('approve-and-audit');
  const before = await csrf();
  const [[name = '', first = ''] = []] = cookies;
  await signIn('approve-and-audit');
  expect((await post('/sign-out', { csrf: before })).status).toBe(403);
  // The session before ended with the sign-in.
  cookies.set(name, first);
  expect((await request('/approvals')).status).toBe(303);
});

it('answers only the question that was shown, and says so where it is gone', async () => {
  const { signIn, post, csrf, answers, request } = consoleWith();
  await signIn('approve-and-audit');
  const token = await csrf();
  expect((await post(PATH, { ...APPROVE, hash: 'other', csrf: token })).status).toBe(410);
  const gone = await request('/approvals/fedcba9876543210');
  expect([gone.status, await gone.text()]).toEqual([
    410,
    expect.stringContaining('Nothing can be answered here any more.'),
  ]);
  expect((await post('/approvals/fedcba9876543210', { ...APPROVE, hash: 'h', csrf: token })).status).toBe(
    410,
  );
  expect(answers).toEqual([]);
  await post(PATH, { answer: 'deny', reason: 'no', hash: question().hash, csrf: token });
  expect(answers.map(({ answer }) => answer)).toEqual([{ approved: false, reason: 'no' }]);
});

it('lets no key answer what it has asked itself', async () => {
  const { signIn, post, csrf, answers, request } = consoleWith({ askedBy: 'k1' });
  await signIn('approve-and-audit');
  const page = await (await request(PATH)).text();
  expect(page).toContain('This was asked with the key that you are signed in with.');
  expect(page).not.toContain('value="approve"');
  expect((await post(PATH, { ...APPROVE, hash: question().hash, csrf: await csrf() })).status).toBe(403);
  expect(answers).toEqual([]);
});

it('lets nobody approve a grave risk who does not say to have read all', async () => {
  const grave = question({ risk: { ...question().risk, level: 'CRITICAL' } });
  const { signIn, post, csrf, answers } = consoleWith({ question: grave });
  await signIn('approve-and-audit');
  const form = { ...APPROVE, hash: grave.hash, csrf: await csrf() };
  expect((await post(PATH, form)).status).toBe(400);
  expect(answers).toEqual([]);
  expect((await post(PATH, { ...form, read: 'yes' })).status).toBe(303);
});

it('shows what lives, runs and waits only to who may approve, and the record to who may read it', async () => {
  const { signIn, request, post, csrf } = consoleWith();
  await signIn('audit-only');
  expect((await request('/')).headers.get('location')).toBe('/audit');
  const page = await (await request('/audit')).text();
  expect(page).toContain('Not whole.');
  expect(page).not.toContain('href="/approvals"');
  const paths = ['/approvals', PATH, '/grants', '/sandboxes/x', '/executions/x', '/executions/x/results/0'];
  const statuses = await Promise.all(paths.map(async (path) => (await request(path)).status));
  expect(statuses).toEqual(paths.map(() => 403));
  expect((await request('/events')).status).toBe(204);
  const form = { ...APPROVE, hash: question().hash, csrf: await csrf('/audit') };
  expect((await post(PATH, form)).status).toBe(403);
  expect((await post('/grants/g/revoke', form)).status).toBe(403);
});

it('ends sessions: signed out, with its key, without use, after its time', async () => {
  let keys = KEYS;
  const { signIn, request, post, csrf, pass } = consoleWith({ keys: () => keys });
  const isIn = async (headers = {}) => (await request('/approvals', { headers })).status === 200;

  await signIn('approve-and-audit');
  expect((await post('/sign-out', { csrf: await csrf() })).headers.get('location')).toBe('/sign-in');
  expect(await isIn()).toBe(false);

  await signIn('approve-and-audit');
  keys = KEYS.slice(1);
  expect(await isIn()).toBe(false);
  keys = KEYS;
  expect(await isIn()).toBe(false);

  await signIn('approve-and-audit');
  pass(1800);
  expect(await isIn({ 'x-refresh': '1' })).toBe(true);
  // A page that is left open connects again and again.
  expect((await request('/events')).status).toBe(200);
  pass(1800);
  expect(await isIn()).toBe(false);

  await signIn('approve-and-audit');
  for (let i = 0; i < 23; i++) {
    pass(1800);
    expect(await isIn()).toBe(true);
  }
  pass(1800);
  expect(await isIn()).toBe(false);
});

it('shows everything that comes from elsewhere as text, on every page', async () => {
  const { signIn, request } = consoleWith();
  await signIn('approve-and-audit');
  const paths = ['/', '/approvals', PATH, '/grants', `/sandboxes/${encodeURIComponent(HOSTILE)}`];
  paths.push(
    `/executions/${encodeURIComponent(EXECUTION.id)}`,
    '/audit',
    `/audit?type=${encodeURIComponent(HOSTILE)}`,
  );
  paths.push(`/sandboxes/${encodeURIComponent(`${HOSTILE}x`)}`, `/executions/${encodeURIComponent(HOSTILE)}`);
  for (const path of paths) {
    const response = await request(path);
    const text = await response.text();
    // It is there, and nothing of it is markup or unseen.
    expect([path, text.includes('&lt;script&gt;') || text.includes('&#60;script&#62;')]).toEqual([
      path,
      true,
    ]);
    expect([path, text.match(/<script>|href="javascript|[\u202e\u2028\x1b]/g)]).toEqual([path, null]);
    expect([path, text.match(/<(script|iframe|a|img|style|link|form)\b/g)?.length]).not.toEqual([
      path,
      undefined,
    ]);
    expect([path, text.match(/<script\b/g)?.length, / style=| on[a-z]+="/.test(text)]).toEqual([
      path,
      1,
      false,
    ]);
    expect([path, response.headers.get('content-security-policy')]).toEqual([
      path,
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ]);
  }
});

it('shows the newest results of a program that shows thousands, and says so', async () => {
  const { signIn, request, backend } = consoleWith();
  const richResults = Array.from({ length: 5000 }, () => ({ type: 'result' as const, html: '<p>1' }));
  backend.execution = async () => ({ ...EXECUTION, richResults });
  await signIn('approve-and-audit');
  const text = await (await request('/executions/e')).text();
  expect(text).toContain('4900 results before these are not shown.');
  const [first, ...more] = [...text.matchAll(/results\/(\d+)"/g)].map(([, number]) => Number(number));
  expect([first, more.length, more.at(-1)]).toEqual([4900, 99, 4999]);
});

it('gives what browsers would act on only with a policy under which it cannot', async () => {
  const { signIn, request, app } = consoleWith();
  const path = `/executions/${encodeURIComponent(EXECUTION.id)}/results/0`;
  expect((await app.request(path)).status).toBe(303);
  await signIn('approve-and-audit');
  const response = await request(path);
  expect(await response.text()).toContain('</pre><script>alert(1)</script>');
  expect(response.headers.get('content-security-policy')).toBe(
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
  );
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  for (const other of ['1', '-1', 'x', '__proto__', 'length'])
    expect((await request(path.replace(/0$/, other))).status).toBe(404);
});

it('sends every answer with headers that keep browsers from guessing, telling and framing', async () => {
  const { request } = consoleWith();
  for (const path of ['/', '/sign-in', '/events', ASSETS.script.path]) {
    const { headers } = await request(path);
    expect([path, headers.get('x-content-type-options'), headers.get('x-frame-options')]).toEqual([
      path,
      'nosniff',
      'DENY',
    ]);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  }
});

it('serves its script and its styles under names that change with them', async () => {
  const { request } = consoleWith();
  const { path, etag, content } = ASSETS.script;
  const response = await request(path);
  expect([await response.text(), response.headers.get('cache-control')]).toEqual([
    content,
    'public, max-age=31536000, immutable',
  ]);
  expect((await request(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await request('/assets/console.js')).status).toBe(404);
  expect(content).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?:/);
});

it('leaves paths alone that are not its own, wherever it is mounted', async () => {
  const { app } = consoleWith();
  const server = new Hono();
  server.get('/healthz', (context) => context.text('before'));
  server.route('/', app);
  server.get('/v1/sandboxes', (context) => context.text('after'));
  const seen = async (path: string) => {
    const response = await server.request(`http://127.0.0.1:4000${path}`);
    return [response.status, response.headers.get('content-security-policy')];
  };
  expect(await Promise.all(['/healthz', '/v1/sandboxes', '/nothing'].map(seen))).toEqual([
    ...[
      [200, null],
      [200, null],
      [404, null],
    ],
  ]);
  expect(await seen('/sign-in')).toEqual([200, expect.stringContaining("default-src 'none'")]);
});

it('takes forms of its public address where it stands behind a proxy, and of no other', async () => {
  const { backend } = consoleWith();
  const app = consoleApp(backend, { publicUrl: 'https://glovebox.example/' });
  const signIn = (origin: string) =>
    app.request('http://127.0.0.1:4000/sign-in', {
      ...{ method: 'POST', headers: { origin } },
      body: new URLSearchParams({ secret: 'audit-only' }),
    });
  expect((await signIn('http://127.0.0.1:4000')).status).toBe(403);
  const entered = await signIn('https://glovebox.example');
  expect([entered.status, entered.headers.get('set-cookie')]).toEqual([
    303,
    expect.stringMatching(/^__Host-glovebox_session=.*; Secure/),
  ]);
});

it('says on a page that a form is longer than any of its own, or is none', async () => {
  const { post, request } = consoleWith();
  const long = await post('/sign-in', { secret: 'x'.repeat(20_000) });
  const broken = { origin: 'http://127.0.0.1:4000', 'content-type': 'multipart/form-data' };
  const none = await request('/sign-in', { method: 'POST', body: 'x', headers: broken });
  const seen = [long, none].map(({ status, headers }) => [
    status,
    headers.get('content-security-policy')?.split(';')[0],
  ]);
  expect(seen).toEqual([
    [413, "default-src 'none'"],
    [400, "default-src 'none'"],
  ]);
  expect(await none.text()).toContain('What was sent is no form.');
});

it('opens no connection for pages of who is told of nothing', async () => {
  const { signIn, request } = consoleWith();
  const events = async () => /data-events="[^"]*"/.exec(await (await request('/audit')).text())?.[0];
  await signIn('audit-only');
  expect(await events()).toBeUndefined();
  await signIn('approve-and-audit');
  expect(await events()).toBe('data-events="/events"');
});

it('reads the whole record for who asks for it, and not at every change', async () => {
  const { signIn, request } = consoleWith();
  await signIn('approve-and-audit');
  expect(await (await request('/audit')).text()).toContain('data-refresh="/approvals"');
  expect(await (await request('/')).text()).not.toContain('data-refresh');
});
