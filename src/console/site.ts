/** How requests become pages: who may ask, what every answer has, and what becomes of an error. */
import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type ErrorCode, isSandboxError, SandboxError } from '../errors.ts';
import type { ConsoleBackend, ConsoleScope } from './backend.ts';
import type { FrontDesk, SignedIn } from './frontDesk.ts';
import { PAGE_HEADERS } from './headers.ts';
import { type Page, page, plainPage } from './pages/layout.ts';
import { messageContent } from './pages/plain.ts';

export type Form = Readonly<Record<string, unknown>>;

/** What routes are made with. */
export interface Site {
  readonly backend: ConsoleBackend;
  readonly desk: FrontDesk;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A page for anybody. */
  open(path: string, handler: (context: Context) => Promise<Response>): void;
  /** A form of anybody, from a page of ours. */
  take(path: string, handler: (context: Context, form: Form) => Promise<Response>): void;
  /** A page for who is signed in with this scope; who is not is led to where that is done. */
  look(
    path: string,
    scope: ConsoleScope,
    handler: (context: Context, who: SignedIn) => Promise<Response>,
  ): void;
  /** A form of somebody who is signed in, with this scope where one is named. */
  act(
    path: string,
    scope: ConsoleScope | undefined,
    handler: (context: Context, who: SignedIn, form: Form) => Promise<Response>,
  ): void;
  /** Answers with a page, and what waits for an answer beside it. */
  show(
    context: Context,
    who: SignedIn,
    content: Omit<Page, 'visitor' | 'waiting'>,
    status?: 200 | 410,
  ): Promise<Response>;
}

/** No form of ours is longer. */
const MAX_FORM_BYTES = 16 * 1024;

export function siteOf(app: Hono, { backend, desk, now }: Pick<Site, 'backend' | 'desk' | 'now'>): Site {
  const limited = bodyLimit({
    maxSize: MAX_FORM_BYTES,
    onError: (context) => answered(context, async () => tooLong(context)),
  });
  const open: Site['open'] = (path, handler) => {
    app.get(path, (context) => answered(context, () => handler(context)));
  };
  const take: Site['take'] = (path, handler) => {
    app.post(path, limited, (context) =>
      answered(context, async () => {
        desk.assertOwnOrigin(context);
        return handler(context, await formOf(context));
      }),
    );
  };
  return {
    ...{ backend, desk, now, open, take },
    look(path, scope, handler) {
      open(path, async (context) => {
        const who = await desk.whoAsks(context);
        if (who === undefined) return toSignIn(context);
        assertScope(who, scope);
        return handler(context, who);
      });
    },
    act(path, scope, handler) {
      take(path, async (context, form) => {
        const who = await desk.whoAsks(context);
        if (who === undefined) return context.redirect('/sign-in', 303);
        desk.assertOwnForm(form, who);
        if (scope !== undefined) assertScope(who, scope);
        return handler(context, who, form);
      });
    },
    async show(context, who, content, status = 200) {
      const questions = who.key.scopes.includes('approve') ? await backend.questions() : [];
      const waiting = questions.map(({ question }) => question.id);
      return context.html(page({ ...content, waiting, visitor: who.visitor }), status);
    },
  };
}

/** Throws `INPUT_INVALID` for what is no form. */
async function formOf(context: Context): Promise<Form> {
  try {
    return await context.req.parseBody({ all: true });
  } catch (cause) {
    throw new SandboxError('INPUT_INVALID', 'What was sent is no form.', {
      hint: 'Open the page again, and send it from there.',
      cause,
    });
  }
}

function tooLong(context: Context): Response | Promise<Response> {
  const message = messageContent('Too long', 'What was sent is longer than any form here.', 'Shorten it.');
  return context.html(plainPage('Too long', message), 413);
}

/** A part of the path; throws for none. */
export function parameter(context: Context, name: string): string {
  const value = context.req.param(name);
  if (value === undefined) throw new Error(`The path has no ${name}.`);
  return value;
}

/** For what is not there, or not any more. */
export function notThere(message: string): SandboxError {
  return new SandboxError('SANDBOX_NOT_FOUND', message, { hint: 'See what there is on the first page.' });
}

/** Every answer has the headers; what was thrown on purpose becomes a page, and anything else is for the server. */
async function answered(context: Context, handler: () => Promise<Response>): Promise<Response> {
  const response = await handler().catch((error: unknown) => errorPage(context, error));
  for (const [name, value] of Object.entries(PAGE_HEADERS)) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

const ERRORS: Partial<Record<ErrorCode, readonly [title: string, status: 403 | 404 | 410 | 503]>> = {
  FORBIDDEN: ['Not allowed', 403],
  SANDBOX_NOT_FOUND: ['Not found', 404],
  APPROVAL_EXPIRED: ['Too late', 410],
  AUDIT_UNAVAILABLE: ['The record cannot be read', 503],
};

async function errorPage(context: Context, error: unknown): Promise<Response> {
  if (!isSandboxError(error)) throw error;
  const [title, status] = ERRORS[error.code] ?? (['It did not work', 400] as const);
  return context.html(plainPage(title, messageContent(title, error.message, error.hint)), status);
}

function toSignIn(context: Context): Response {
  return context.redirect(`/sign-in?${new URLSearchParams({ next: context.req.path })}`, 303);
}

function assertScope({ key }: SignedIn, scope: ConsoleScope): void {
  if (key.scopes.includes(scope)) return;
  throw new SandboxError('FORBIDDEN', `The key that you are signed in with has not the scope ${scope}.`, {
    hint: 'Sign out, and sign in with another one.',
  });
}
