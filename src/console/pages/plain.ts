/** Pages without anything of a sandbox. */
import { html } from 'hono/html';
import { shownLine } from '../shownText.ts';
import type { Html } from './layout.ts';

/** `message` says why it did not work the last time, `next` where to go then. */
export function signInContent(next: string, message?: string): Html {
  const alert = message === undefined ? '' : html`<p class="notice bad" role="alert">${message}</p>`;
  return html`<h1>Sign in</h1>${alert}
<form method="post" action="/sign-in" class="card narrow"><input type="hidden" name="next" value="${next}">
<p><label for="secret">Key</label><input id="secret" name="secret" type="password" autocomplete="current-password" required autofocus spellcheck="false" maxlength="512"></p>
<p class="faint">One with the scope <code>approve</code> or <code>audit</code>; <code>glovebox keys</code> makes one.</p>
<p><button class="approve">Sign in</button></p></form>`;
}

export function messageContent(title: string, message: string, hint = ''): Html {
  return html`<h1>${title}</h1><p class="notice" role="status">${shownLine(message, 600)} ${shownLine(hint, 600)}</p><p><a href="/">To the start</a></p>`;
}
