// Asks a person by a webhook: the whole question goes out signed, and only an answer to its very hash counts.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Gate, getSandbox, presetRules } from 'glovebox';

const secret = randomBytes(32);
const sign = (text) => createHmac('sha256', secret).update(text).digest('hex');

/** In place of a chat or a ticket system: somebody who lets code run that prints, and nothing else. */
const person = createServer(async (request, response) => {
  const question = await json(request);
  const given = Buffer.from(String(request.headers['x-signature']));
  const expected = Buffer.from(sign(question.hash));
  const isOurs = given.length === expected.length && timingSafeEqual(given, expected);
  const approved = isOurs && question.code.startsWith('print(');
  const answer = { hash: question.hash, approved, ...(approved ? {} : { reason: 'Only printing, please.' }) };
  response.setHeader('x-signature', sign(JSON.stringify(answer)));
  response.end(JSON.stringify(answer));
});
await new Promise((resolve) => person.listen(0, '127.0.0.1', resolve));
const webhook = `http://127.0.0.1:${person.address().port}/questions`;

const gate = new Gate({
  rules: presetRules('strict'),
  approvers: [
    {
      name: 'webhook',
      async ask({ hash, operation, policy, parameters, risk, code }, signal) {
        const shown = {
          hash,
          operation,
          policy,
          parameters,
          risk,
          code: Buffer.from(code?.bytes ?? []).toString(),
        };
        const answered = await fetch(webhook, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-signature': sign(hash) },
          body: JSON.stringify(shown),
          signal,
        });
        const text = await answered.text();
        const answer = JSON.parse(text);
        const isGenuine = answered.headers.get('x-signature') === sign(text) && answer.hash === hash;
        if (!isGenuine) return { approved: false, reason: 'The answer was not one of the webhook.' };
        return answer.approved ? { approved: true } : { approved: false, reason: answer.reason };
      },
    },
  ],
});

for (const code of ['print(6 * 7)', "open('a.txt', 'w')"]) {
  const { outcome, stdout } = await getSandbox({ gate }).execute(code);
  console.log(`${code}: ${outcome}${stdout && `, ${stdout.trim()}`}`);
}
person.close();
