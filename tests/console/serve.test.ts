/** A person's whole way through the console of `glovebox serve` as it is built. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useCommand } from '../e2e/support/command.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { eventually } from '../support/eventually.ts';
import { openBrowser } from './support/browser.ts';

const command = useCommand();

const DANGEROUS = 'import shutil\nshutil.rmtree("/srv/nothing-of-this-name")\n';

const CHART = `import os, struct, time, zlib
class Chart:
    def _repr_png_(self):
        part = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        head, row = struct.pack('>IIBBBBB', 2, 1, 8, 2, 0, 0, 0), b'\\0\\x1d\\x5f\\xa8\\xff\\xff\\xff'
        return b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', head) + part(b'IDAT', zlib.compress(row)) + part(b'IEND', b'')
def wait_for(name):
    while not os.path.exists('/workspace/' + name): time.sleep(0.05)
wait_for('draw')
display(Chart())
wait_for('end')
print('done')
`;

interface Served {
  readonly url: string;
  readonly pid: number;
  readonly finished: Promise<{ readonly status: number | null }>;
  /** The key that answers, as it was printed. */
  readonly operate: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every kind, which tests compare as whole values.
  ask(method: string, path: string, body?: unknown): Promise<any>;
  write(sandbox: string, name: string): Promise<void>;
}

const SETTINGS = {
  SANDBOX_STORE_CODE: 'never',
  SANDBOX_TYPE: 'bubblewrap',
  ...(process.env['SANDBOX_PYTHON'] === undefined ? {} : { SANDBOX_PYTHON: process.env['SANDBOX_PYTHON'] }),
};

async function serve(): Promise<Served> {
  const told = join(command.temporary, 'told');
  const running = await command.start(['serve', '--port', '0'], {
    ...{ env: { ...SETTINGS, TOLD: told }, deadlineMs: 90_000 },
    wrapper: ['sh', '-c', 'exec "$@" 2> "$TOLD"', 'sh'],
  });
  await running.prints('\n');
  const url = running.stdout().trim();
  const [, execute = '', operate = ''] =
    /to run code: (\S+)\n.*to approve, and to read the record: (\S+)\n/.exec(readFileSync(told, 'utf8')) ??
    [];
  const authorization = `Bearer ${execute}`;
  return {
    ...{ url, operate, pid: running.pid, finished: running.finished },
    async ask(method, path, body) {
      const response = await fetch(`${url}${path}`, {
        ...{ method, headers: { authorization, 'content-type': 'application/json' } },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return text === '' ? undefined : JSON.parse(text);
    },
    async write(sandbox, name) {
      await fetch(`${url}/v1/sandboxes/${sandbox}/files/content?path=${name}`, {
        ...{ method: 'PUT', body: '' },
        headers: { authorization, 'content-type': 'application/octet-stream' },
      });
    },
  };
}

/** Opens the question that waits, from the page that is open, without reading that again. */
async function openQuestion(page: Page): Promise<void> {
  await page.locator('#questions .cards a').first().click();
  await page.waitForSelector('article.question');
}

describeWith(['bubblewrap', 'chromium'], 'the console of glovebox serve', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  it('leads from the key that was printed over questions, charts and sandboxes to the record', async () => {
    const server = await serve();
    const context = await browser.newContext();
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    await page.goto(server.url);
    await page.fill('#secret', server.operate);
    await page.keyboard.press('Enter');
    await page.waitForSelector('h1:text("Overview")');

    // Asked over HTTP: it appears by itself, and a no is told with its reason.
    const denied = server.ask('POST', '/v1/executions', { code: DANGEROUS });
    await openQuestion(page);
    expect(await page.textContent('.findings')).toContain('line 2, DANGEROUS: shutil.rmtree deletes');
    expect(await page.textContent('.question .lines')).toContain(
      'shutil.rmtree("/srv/nothing-of-this-name")',
    );
    await page.fill('#reason', 'Not <b>today</b>.');
    await page.click('button.deny');
    await page.waitForSelector('[role=status]:text("Denied.")');
    expect(await denied).toMatchObject({
      ...{ outcome: 'denied', stderr: expect.stringContaining('Not <b>today</b>.') },
    });

    // Many lines are drawn before the time is up: their numbers are written, and not counted anew for each.
    const lines = 5000;
    const long = server.ask('POST', '/v1/executions', { code: `${DANGEROUS}${'# a line\n'.repeat(lines)}` });
    await openQuestion(page);
    const number = await page.evaluate(
      "getComputedStyle(document.querySelector('.question .lines li:last-child'), '::before').content",
    );
    expect(number).toBe(`"${lines + 2}"`);
    await page.click('button.deny');
    await page.waitForSelector('[role=status]:text("Denied.")');
    expect((await long).outcome).toBe('denied');

    // A yes that is remembered is not asked for again, until it is taken back.
    const approved = server.ask('POST', '/v1/executions', { code: DANGEROUS });
    await openQuestion(page);
    await page.check('input[value=exact]');
    await page.check('input[name=read]');
    await page.click('button.approve');
    await page.waitForSelector('[role=status]:text("Approved.")');
    expect((await approved).outcome).toBe('exited');
    expect((await server.ask('POST', '/v1/executions', { code: DANGEROUS })).outcome).toBe('exited');
    await page.goto(`${server.url}/grants`);
    await page.click('button:text("Revoke")');
    await page.waitForSelector('text=Nothing is granted.');

    // So is what other commands of this user ask.
    const other = await command.start(['run', '--json', '-c', DANGEROUS], {
      env: { ...SETTINGS, SANDBOX_GATE: 'ask-on-danger' },
    });
    await page.goto(`${server.url}/approvals`);
    await openQuestion(page);
    expect(await page.textContent('#standing')).toContain('Asked for a process of this host');
    await page.check('input[name=read]');
    await page.click('button.approve');
    await page.waitForSelector('[role=status]:text("Approved.")');
    expect(JSON.parse((await other.finished).stdout).outcome).toBe('exited');

    // A chart is there as soon as it is drawn, and output as soon as it is written.
    const box: string = (await server.ask('POST', '/v1/sandboxes', {})).sandbox_id;
    const contexts = `/v1/sandboxes/${box}/contexts`;
    const { context_id } = await server.ask('POST', contexts, {});
    const cell = server.ask('POST', `${contexts}/${context_id}/executions`, { code: CHART });
    await page.goto(`${server.url}/sandboxes/${box}`);
    await page.click('#executions tbody th a');
    await page.waitForSelector('#state :text("running")');
    await page.waitForLoadState('load');
    await server.write(box, 'draw');
    await page.waitForSelector('img.chart');
    expect(await page.textContent('#state')).toContain('running');
    await server.write(box, 'end');
    await page.waitForSelector('.run.stdout pre:text("done")');
    const { meta } = await cell;

    // Of more output than a page holds, the end is there.
    const flood =
      'import os, time\nwhile not os.path.exists("flood"): time.sleep(0.05)\nprint("x" * 1_500_000 + "end")';
    const flooding = server.ask('POST', `/v1/sandboxes/${box}/executions`, { code: flood });
    await page.click('#state a');
    await page.click('#executions tr:has(.running) th a');
    await page.waitForSelector('#state :text("running")');
    await page.waitForLoadState('load');
    await server.write(box, 'flood');
    await flooding;
    await eventually('the end of the flood is shown', () =>
      page.evaluate<boolean>("document.querySelector('.run pre')?.textContent.endsWith('xend\\n') === true"),
    );
    const length = await page.evaluate("document.querySelector('.run pre').textContent.length");
    expect(length).toBe(500_000);

    // A page of what is gone says so.
    await page.click('#state a');
    await page.waitForSelector('#sandbox td:text("idle")');
    await server.ask('DELETE', `/v1/sandboxes/${box}`);
    await page.waitForSelector('[role=status]:text("is not there any more")');

    await page.goto(`${server.url}/audit?id=${meta.execution_id}`);
    expect(await page.textContent('.verdict')).toMatch(/^Whole\. \d+ records follow one another/);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a[download]')]);
    expect(JSON.parse(readFileSync(await download.path(), 'utf8')).receipt.execution_id).toBe(
      meta.execution_id,
    );

    // Nothing comes back of what was seen before.
    await page.click('button:text("Sign out")');
    await page.waitForSelector('h1:text("Sign in")');
    await page.goBack();
    await page.waitForSelector('h1:text("Sign in")');
    expect(faults).toEqual([]);
    await context.close();
    process.kill(server.pid, 'SIGTERM');
    expect((await server.finished).status).toBe(0);
  }, 90_000);
});
