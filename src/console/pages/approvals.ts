import { html, raw } from 'hono/html';
import type { Grant } from '../../operations/approvals.ts';
import { questionHtml } from '../../operations/approvals.ts';
import type { ConsoleKey, WaitingQuestion } from '../backend.ts';
import { shownLine } from '../shownText.ts';
import { actionButton, csrfField, type Html, type Visitor } from './layout.ts';
import { askedBy, questionList, riskBadge, table, time, until } from './parts.ts';

/** What has just been done, as the address of the page says. */
const DONE = {
  approved: 'Approved.',
  late: 'Approved, but so late that it may not have counted: see what came of it.',
  denied: 'Denied.',
  revoked: 'Revoked.',
} as const;

export type Done = keyof typeof DONE;

/** The sentence for a word of an address; nothing for any other. */
function doneNotice(word: string | undefined): Html | '' {
  const sentence = Object.entries(DONE).find(([name]) => name === word)?.[1];
  return sentence === undefined ? '' : html`<p class="notice" role="status">${sentence}</p>`;
}

export function approvalsContent(questions: readonly WaitingQuestion[], done: string | undefined): Html {
  return html`<h1>Approvals</h1>${doneNotice(done)}
<section id="questions" data-live aria-label="Waiting for an answer">${questionList(questions)}</section>`;
}

/** One question whole, and what may be answered. */
export function approvalContent(waiting: WaitingQuestion, key: ConsoleKey, visitor: Visitor): Html {
  const { question } = waiting;
  const isOwn = waiting.askedBy?.id === key.id;
  const answer = isOwn
    ? html`<p class="notice">This was asked with the key that you are signed in with. Sign in with another one to answer it.</p>`
    : answerForms(waiting, visitor);
  return html`<h1>${riskBadge(question.risk.level)} ${question.operation} in ${shownLine(question.runtime, 40)}</h1>
<div id="standing" data-live><p>Asked for ${askedBy(waiting)}, ${until(question.expiresAt)}. <a href="#answer">To the answer</a></p></div>
${raw(questionHtml(question))}
<section id="answer" aria-labelledby="answer-title"><h2 id="answer-title">Your answer</h2>${answer}</section>`;
}

/** In the place of a question that cannot be answered any more. */
export function goneContent(message: string): Html {
  return html`<h1>Too late</h1>
<div id="standing" data-live data-gone><p class="notice" role="status">${shownLine(message, 400)} Nothing can be answered here any more. <a href="/approvals">See what waits</a></p></div>`;
}

function answerForms({ question }: WaitingQuestion, visitor: Visitor): Html {
  const { id, hash, operation, sandboxId, unknownContent, risk } = question;
  const hidden = html`${csrfField(visitor)}<input type="hidden" name="hash" value="${hash}">`;
  const scopes = [
    scope('once', 'Once', 'this question alone', true),
    ...(unknownContent === undefined ? [scope('exact', 'The same again', 'exactly this, to the byte')] : []),
    ...(sandboxId === null
      ? []
      : [
          scope(
            'operation',
            `Every ${operation} in this sandbox`,
            'whatever it is, under the same policy, up to this risk',
          ),
        ]),
  ];
  const grave =
    risk.level === 'CRITICAL'
      ? html`<p><label class="choice"><input type="checkbox" name="read" value="yes" required> I have read all of it</label></p>`
      : '';
  const remember =
    scopes.length > 1
      ? html`<div class="fields"><p><label for="for_sec">Remember it for</label><select id="for_sec" name="for_sec"><option value="900">15 minutes</option><option value="3600" selected>1 hour</option><option value="28800">8 hours</option><option value="86400">1 day</option></select></p>
<p><label for="count">How often at most, this time included</label><input id="count" name="count" type="number" min="2" max="1000000" step="1" inputmode="numeric" placeholder="any number"></p></div>
<p class="faint">Time and number count only where it is remembered, which is everything but “once”.</p>`
      : '';
  return html`<div class="answers">
<form method="post" action="/approvals/${id}" class="card yes">${hidden}
<h3 id="approve-title">Approve</h3>
<fieldset aria-labelledby="approve-title">${scopes}</fieldset>${remember}${grave}
<p><button name="answer" value="approve" class="approve">Approve</button></p></form>
<form method="post" action="/approvals/${id}" class="card no">${hidden}
<h3>Deny</h3>
<p><label for="reason">Reason, which whoever asks will read</label><input id="reason" name="reason" maxlength="500" autocomplete="off"></p>
<p><button name="answer" value="deny" class="deny">Deny</button></p></form></div>`;
}

function scope(value: string, name: string, meaning: string, isFirst = false): Html {
  const checked = isFirst ? html` checked` : '';
  return html`<label class="choice"><input type="radio" name="scope" value="${value}"${checked}> <span>${name}<span class="faint">: ${meaning}</span></span></label>`;
}

export function grantsContent(grants: readonly Grant[], visitor: Visitor, done: string | undefined): Html {
  const rows = grants.map(
    (grant) => html`<tr>
<th scope="row" data-label="Holds for">${grant.scope === 'exact' ? 'exactly this' : 'every'} ${grant.operation}, up to ${grant.level}<br><code class="hash">${shownLine(grant.hash.slice(0, 16), 16)}…</code></th>
<td data-label="Where">${shownLine(grant.runtime, 40)}${grant.sandboxId === null ? '' : `, sandbox ${shownLine(grant.sandboxId, 80)}`}</td>
<td data-label="Given">${time(grant.givenAt)} by ${shownLine(grant.givenBy, 60)}</td><td data-label="Until">${time(grant.expiresAt)}</td>
<td data-label="Uses left">${grant.usesLeft ?? 'any number'}</td>
<td data-label="Take back">${actionButton(visitor, `/grants/${encodeURIComponent(grant.id)}/revoke`, 'Revoke', `the grant for ${grant.operation}`)}</td></tr>`,
  );
  const columns = ['Holds for', 'Where', 'Given', 'Until', 'Uses left', 'Take back'];
  const list =
    rows.length === 0
      ? html`<p class="empty">Nothing is granted.</p>`
      : table('Grants in force', columns, rows);
  return html`<h1>Grants</h1>${doneNotice(done)}<p>A remembered yes: what it holds for is not asked again.</p>
<section id="grants" data-live aria-label="Grants">${list}</section>`;
}
