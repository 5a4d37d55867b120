/** The console: pages for people, over the operations of the server that it belongs to. */
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type ErrorCode, isSandboxError, SandboxError } from '../errors.ts';
import { answerFrom } from './answerForm.ts';
import { ASSETS } from './assets/assets.ts';
import { filterOf, recordPage } from './auditView.ts';
import type { ConsoleBackend, ConsoleScope } from './backend.ts';
import { eventsResponse } from './events.ts';
import { frameOf } from './frame.ts';
import { FrontDesk, type SignedIn } from './frontDesk.ts';
import { FRAME_HEADERS, PAGE_HEADERS } from './headers.ts';
import { outputTail } from './outputTail.ts';
import { approvalContent, approvalsContent, goneContent, grantsContent } from './pages/approvals.ts';
import { auditContent } from './pages/audit.ts';
import { executionContent } from './pages/execution.ts';
import { type Page, page, plainPage } from './pages/layout.ts';
import { overviewContent, sandboxContent } from './pages/overview.ts';
import { messageContent, signInContent } from './pages/plain.ts';
import { shownLine } from './shownText.ts';
import { Verification } from './verification.ts';

export interface ConsoleOptions {
  /** Where browsers find it, as `https://glovebox.example.org`, where that is not the address of the requests. */
  readonly publicUrl?: string;
  /** From where a request comes, for counting what tries to sign in; the socket's address when absent. */
  readonly addressOf?: (context: Context) => string;
  /** Milliseconds since 1970; for tests. */
  readonly now?: () => number;
}

/** No form of ours is longer. */
const MAX_FORM_BYTES = 16 * 1024;

/** A yes in the last second may have come too late. */
const LATE_MS = 1000;

/**
 * The console as an application to be mounted at `/`. It answers its own paths only: `/`, `/sign-in`, `/sign-out`,
 * `/approvals`, `/grants`, `/sandboxes`, `/executions`, `/audit`, `/events` and `/assets`.
 */
export function consoleApp(backend: ConsoleBackend, options: ConsoleOptions = {}): Hono {
  const { publicUrl, addressOf = socketAddress, now = Date.now } = options;
  const desk = new FrontDesk(backend, {
    ...{ addressOf, now },
    ...(publicUrl === undefined ? {} : { publicUrl }),
  });
  const verification = new Verification(() => backend.verify(), now);
  const app = new Hono();

  type Handler = (context: Context, who: SignedIn) => Promise<Response>;

  /** A page for who is signed in with this scope; others are led to where they can sign in. */
  const look = (path: string, scope: ConsoleScope, handler: Handler): void => {
    app.get(path, (context) =>
      answered(context, async () => {
        const who = await desk.whoAsks(context);
        if (who === undefined)
          return context.redirect(`/sign-in?${new URLSearchParams({ next: context.req.path })}`, 303);
        assertScope(who, scope);
        return handler(context, who);
      }),
    );
  };

  /** A form of somebody who is signed in with this scope. */
  const act = (
    path: string,
    scope: ConsoleScope | undefined,
    handler: (context: Context, who: SignedIn, form: Readonly<Record<string, unknown>>) => Promise<Response>,
  ): void => {
    app.post(path, limited, (context) =>
      answered(context, async () => {
        desk.assertOwnOrigin(context);
        const who = await desk.whoAsks(context);
        if (who === undefined) return context.redirect('/sign-in', 303);
        const form = await context.req.parseBody({ all: true });
        desk.assertOwnForm(form, who);
        if (scope !== undefined) assertScope(who, scope);
        return handler(context, who, form);
      }),
    );
  };

  const show = async (
    context: Context,
    who: SignedIn,
    content: Omit<Page, 'visitor' | 'waiting'>,
    status: 200 | 404 | 410 = 200,
  ): Promise<Response> => {
    const questions = who.key.scopes.includes('approve') ? await backend.questions() : [];
    const waiting = questions.map(({ question }) => question.id);
    return context.html(page({ ...content, waiting, visitor: who.visitor }), status);
  };

  for (const { path, type, content, etag } of Object.values(ASSETS)) {
    app.get(path, (context) => {
      const headers = { ...PAGE_HEADERS, etag, 'cache-control': 'public, max-age=31536000, immutable' };
      if (context.req.header('if-none-match') === etag) return context.body(null, 304, headers);
      return context.body(content, 200, { ...headers, 'content-type': type });
    });
  }

  app.get('/sign-in', (context) =>
    answered(context, async () =>
      context.html(plainPage('Sign in', signInContent(ownPath(context.req.query('next'))))),
    ),
  );
  app.post('/sign-in', limited, (context) =>
    answered(context, async () => {
      desk.assertOwnOrigin(context);
      const { secret, next } = await context.req.parseBody();
      const path = ownPath(next);
      const signedIn = await desk.signIn(context, typeof secret === 'string' ? secret : '');
      if (signedIn.outcome === 'signed in') return context.redirect(path, 303);
      if (signedIn.outcome === 'refused') {
        const message =
          'This is no key that may enter: it is unknown, revoked or expired, or its scope is another one.';
        return context.html(plainPage('Sign in', signInContent(path, message)), 401);
      }
      context.header('retry-after', String(signedIn.seconds));
      const message = `Too many tries. Wait ${signedIn.seconds} s, then try again.`;
      return context.html(plainPage('Sign in', signInContent(path, message)), 429);
    }),
  );
  act('/sign-out', undefined, async (context) => {
    desk.signOut(context);
    return context.redirect('/sign-in', 303);
  });

  app.get('/', (context) =>
    answered(context, async () => {
      const who = await desk.whoAsks(context);
      if (who === undefined) return context.redirect('/sign-in', 303);
      // Who may only read the record has nothing else to see.
      if (!who.key.scopes.includes('approve')) return context.redirect('/audit', 303);
      const [questions, sandboxes, executions] = await Promise.all([
        ...([backend.questions(), backend.sandboxes(), backend.executions()] as const),
      ]);
      const content = overviewContent({ questions, sandboxes, executions });
      return show(context, who, { title: 'Overview', section: '/', content });
    }),
  );

  look('/approvals', 'approve', async (context, who) => {
    const content = approvalsContent(await backend.questions(), context.req.query('done'));
    return show(context, who, { title: 'Approvals', section: '/approvals', content });
  });
  look('/approvals/:id', 'approve', async (context, who) => {
    try {
      const waiting = await backend.question(parameter(context, 'id'));
      const content = approvalContent(waiting, who.key, who.visitor);
      return await show(context, who, { title: 'Approval', section: '/approvals', content });
    } catch (error) {
      if (!isSandboxError(error) || error.code !== 'APPROVAL_EXPIRED') throw error;
      const content = goneContent(error.message);
      return show(context, who, { title: 'Too late', section: '/approvals', content }, 410);
    }
  });
  act('/approvals/:id', 'approve', async (context, { key }, form) => {
    const id = parameter(context, 'id');
    const { hash, answer, hasRead } = answerFrom(form);
    const { question, askedBy } = await backend.question(id);
    if (askedBy?.id === key.id) throw ownQuestion();
    if (answer.approved && question.risk.level === 'CRITICAL' && !hasRead) throw notRead();
    await backend.answer(id, hash, answer, key);
    const isLate = Date.parse(question.expiresAt) - now() < LATE_MS;
    return context.redirect(
      `/approvals?done=${answer.approved ? (isLate ? 'late' : 'approved') : 'denied'}`,
      303,
    );
  });

  look('/grants', 'approve', async (context, who) => {
    const content = grantsContent(await backend.grants(), who.visitor, context.req.query('done'));
    return show(context, who, { title: 'Grants', section: '/grants', content });
  });
  act('/grants/:id/revoke', 'approve', async (context, { key }) => {
    await backend.revoke(parameter(context, 'id'), key);
    return context.redirect('/grants?done=revoked', 303);
  });

  look('/sandboxes/:id', 'approve', async (context, who) => {
    const id = parameter(context, 'id');
    const [questions, sandboxes, executions] = await Promise.all([
      ...([backend.questions(), backend.sandboxes(), backend.executions()] as const),
    ]);
    const sandbox = sandboxes.find((one) => one.id === id);
    if (sandbox === undefined)
      throw notThere(`No sandbox ${JSON.stringify(id.slice(0, 100))} lives (any more).`);
    const content = sandboxContent(sandbox, { questions, sandboxes, executions });
    return show(context, who, { title: `Sandbox ${shownLine(id, 60)}`, content });
  });

  const executionOf = async (context: Context) => {
    const id = parameter(context, 'id');
    const execution = await backend.execution(id);
    if (execution !== undefined) return execution;
    throw notThere(`No execution ${JSON.stringify(id.slice(0, 100))} is kept (any more).`);
  };
  look('/executions/:id', 'approve', async (context, who) => {
    const execution = await executionOf(context);
    const output = await outputTail(backend.output(execution.id, { after: 0, follow: false }));
    const isOver = execution.state === 'ended' || execution.state === 'failed';
    return show(context, who, {
      title: 'Execution',
      content: executionContent(execution, output),
      ...(isOver ? {} : { output: { execution: execution.id, after: output.next } }),
    });
  });
  look('/executions/:id/results/:number', 'approve', async (context) => {
    const { richResults } = await executionOf(context);
    const rich = richResults[Number(parameter(context, 'number'))];
    const frame = rich === undefined ? undefined : frameOf(rich);
    if (!frame?.ok) throw notThere('There is no such result that is shown in a frame.');
    return context.html(frame.page, 200, FRAME_HEADERS);
  });

  look('/audit', 'audit', async (context, who) => {
    const text = (name: string): string => context.req.query(name)?.trim() ?? '';
    const query = {
      ...{ type: text('type'), operation: text('operation'), id: text('id'), sandbox: text('sandbox') },
      ...{ since: text('since'), until: text('until'), before: text('before') },
    };
    const [records, verified] = await Promise.all([
      recordPage(backend.records(filterOf(query)), query),
      verification.current(),
    ]);
    const content = auditContent(query, records, verified);
    return show(context, who, { title: 'Audit', section: '/audit', content });
  });
  look('/audit/receipts/:id', 'audit', async (context) => {
    const id = parameter(context, 'id');
    const receipt = await backend.receipt(id);
    return context.body(`${JSON.stringify(receipt, null, 2)}\n`, 200, {
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="receipt-${id.replace(/[^\w-]/g, '_').slice(0, 80)}.json"`,
    });
  });

  app.get('/events', (context) =>
    answered(context, async () => {
      const who = await desk.whoAsks(context);
      // Browsers come back after anything else.
      if (who === undefined || !who.key.scopes.includes('approve')) return context.body(null, 204);
      const execution = context.req.query('execution');
      const after = Number(context.req.header('last-event-id') ?? context.req.query('after') ?? 0);
      return eventsResponse(context, backend, {
        isSignedIn: () => desk.isSignedIn(context),
        ...(execution === undefined || !Number.isSafeInteger(after) || after < 0
          ? {}
          : { output: { execution, after } }),
      });
    }),
  );
  return app;

  /** Every answer has the headers; what was thrown on purpose becomes a page, and anything else is for the server. */
  async function answered(context: Context, handler: () => Promise<Response>): Promise<Response> {
    const response = await handler().catch((error: unknown) => errorPage(context, error));
    for (const [name, value] of Object.entries(PAGE_HEADERS)) {
      if (!response.headers.has(name)) response.headers.set(name, value);
    }
    return response;
  }

  async function errorPage(context: Context, error: unknown): Promise<Response> {
    if (!isSandboxError(error)) throw error;
    const [title, status] = ERRORS[error.code] ?? (['It did not work', 400] as const);
    return context.html(plainPage(title, messageContent(title, error.message, error.hint)), status);
  }
}

const limited = bodyLimit({ maxSize: MAX_FORM_BYTES });

const ERRORS: Partial<Record<ErrorCode, readonly [title: string, status: 400 | 403 | 404 | 410 | 503]>> = {
  FORBIDDEN: ['Not allowed', 403],
  SANDBOX_NOT_FOUND: ['Not found', 404],
  APPROVAL_EXPIRED: ['Too late', 410],
  AUDIT_UNAVAILABLE: ['The record is not whole', 503],
};

function assertScope({ key }: SignedIn, scope: ConsoleScope): void {
  if (key.scopes.includes(scope)) return;
  throw new SandboxError('FORBIDDEN', `The key that you are signed in with has not the scope ${scope}.`, {
    hint: 'Sign out, and sign in with another one.',
  });
}

function parameter(context: Context, name: string): string {
  return context.req.param(name) ?? '';
}

/** A path of ours to go on with; nothing that leads elsewhere. */
function ownPath(next: unknown): string {
  return typeof next === 'string' && /^\/(?:[\w-][\w./-]*)?$/.test(next) ? next : '/';
}

function ownQuestion(): SandboxError {
  return new SandboxError('FORBIDDEN', 'This was asked with the key that you are signed in with.', {
    hint: 'Sign in with another one to answer it.',
  });
}

function notRead(): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    'So grave a risk is approved only by who says to have read all of it.',
    {
      hint: 'Go back, read it, and tick the box above the button.',
    },
  );
}

function notThere(message: string): SandboxError {
  return new SandboxError('SANDBOX_NOT_FOUND', message, { hint: 'See what there is on the first page.' });
}

function socketAddress(context: Context): string {
  const { incoming } = (context.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
  return incoming?.socket?.remoteAddress ?? 'unknown';
}
