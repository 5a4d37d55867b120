/** The console in a real browser, over real sandboxes, questions and records. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../e2e/support/needs.ts';
import { hostileHtml, hostileSvg, printsHostile } from './hostileOutput.ts';
import { openBrowser } from './support/browser.ts';
import { openElsewhere } from './support/elsewhere.ts';
import { type OpenConsole, openConsole, PERSON } from './support/openConsole.ts';

/** Where pictures of the pages go for who wants to look at them; nowhere otherwise. */
const PICTURES = process.env['CONSOLE_PICTURES'];

let browser: Browser;
let open: OpenConsole;
const contexts: BrowserContext[] = [];

async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  contexts.push(context);
  return context.newPage();
}

/** As a person does it. */
async function signedIn(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await newPage(options);
  await page.goto(`${open.url}/`);
  await page.fill('#secret', PERSON.secret);
  await page.keyboard.press('Enter');
  await page.waitForSelector('h1:text("Overview")');
  return page;
}

/** Goes on with the tabulator until what is wanted has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press('Tab');
    const isThere = await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`);
    if (isThere) return;
  }
  throw new Error(`The keyboard does not reach ${selector}.`);
}

/** A picture with one bar, as a library for charts would give it. */
const CHART = `import struct, zlib
def png(width, height):
    rows = b''.join(b'\\0' + b'\\x1d\\x5f\\xa8' * (width // 2) + b'\\xff\\xff\\xff' * (width - width // 2) for _ in range(height))
    part = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    head = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
    return b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', head) + part(b'IDAT', zlib.compress(rows)) + part(b'IEND', b'')
class Chart:
    def _repr_png_(self): return png(320, 120)
    def __repr__(self): return 'A bar'
`;

const HUGE_SVG = `class Huge:
    def _repr_svg_(self): return '<svg>' + ' ' * 2_200_000 + '</svg>'
display(Huge())
`;

describeWith(['bubblewrap', 'chromium'], 'the console in a browser', () => {
  beforeAll(async () => {
    [browser, open] = await Promise.all([openBrowser(), openConsole()]);
  });
  afterAll(async () => {
    await browser?.close();
    await open?.[Symbol.asyncDispose]();
  });

  it('shows a question as it comes, lets the keyboard alone approve it, and the output as it comes', async () => {
    const sandbox = await open.sandbox('live-box');
    const page = await signedIn();
    await page.waitForSelector('text=Nothing waits for an answer.');
    await page.evaluate('window.notReloaded = true');
    const script =
      "echo first; while [ ! -e go ]; do sleep 0.05; done; printf '\\033[31msecond\\n' >&2; echo third";
    const { id, done } = open.run(sandbox, 'shell', script);

    await page.waitForSelector('#questions .cards a');
    expect(await page.textContent('#announcement')).toMatch(
      /^New question: CRITICAL execute, shell in bubblewrap/,
    );
    expect(await page.title()).toBe('(1) Overview · Glovebox');
    expect(await page.textContent('#questions .cards')).toContain('Asked for the key agent');
    expect(await page.evaluate('window.notReloaded')).toBe(true);

    await tabTo(page, '#questions .cards a');
    await page.keyboard.press('Enter');
    await page.waitForSelector('article.question');
    expect(await page.textContent('.question .lines')).toBe(script);
    expect(await page.textContent('.question')).toContain('A shell script is run.');
    await tabTo(page, 'input[name=scope]');
    await tabTo(page, 'input[name=read]');
    await page.keyboard.press('Space');
    await tabTo(page, 'button.approve');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[role=status]:text("Approved.")');

    await page.goto(`${open.url}/`);
    await tabTo(page, '#running tbody a');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.run.stdout pre:text("first")');
    expect(await page.locator('.run.stderr').count()).toBe(0);
    expect(await page.textContent('#state')).toContain('running');
    await page.evaluate('window.notReloaded = true');
    await sandbox.writeFile('go', '');
    await page.waitForSelector('.run.stdout pre:text("third")');
    const runs = await page.locator('.run pre').allTextContents();
    expect(runs.join('')).toBe('first\n⟦U+001B⟧[31msecond\nthird\n');
    expect(await page.textContent('.run.stderr pre')).toBe('⟦U+001B⟧[31msecond\n');
    await page.waitForSelector('#state .state.good:text("exited with 0")');
    expect(await page.evaluate('window.notReloaded')).toBe(true);
    expect(new URL(page.url()).pathname).toBe(`/executions/${id}`);
    await done;
    // Read again from the beginning, it is the same.
    await page.reload();
    expect((await page.locator('.run pre').allTextContents()).join('')).toBe(runs.join(''));
  });

  it('shows a chart, a table and text, as they come', async () => {
    const sandbox = await open.sandbox('chart-box');
    const code = `${CHART}display(Chart())
display([{'name': '<b>a</b>', 'n': 1}, {'name': 'b', 'n': 2}])
import os, time
while not os.path.exists('go'): time.sleep(0.05)
Chart()`;
    const { id, done } = open.runCell(sandbox, code);
    const page = await signedIn();
    await page.goto(`${open.url}/executions/${id}`);
    await page.waitForSelector('img.chart');
    const width = () => page.evaluate("document.querySelector('img.chart').naturalWidth");
    await expect.poll(width).toBe(320);
    expect(await page.getAttribute('img.chart', 'alt')).toBe('A bar');
    const table = page.frameLocator('iframe.result').locator('table');
    expect(await table.locator('th').allTextContents()).toEqual(['name', 'n']);
    expect(await table.locator('td').allTextContents()).toEqual(['<b>a</b>', '1', 'b', '2']);
    await sandbox.writeFile('go', '');
    await page.locator('img.chart').nth(1).waitFor();
    await done;
  });

  it('keeps hostile output text: nothing of it runs, is loaded or leads elsewhere', async () => {
    await using control = await openElsewhere();
    await using elsewhere = await openElsewhere();
    control.page = hostileHtml(control.url);
    const dialogs: string[] = [];
    const watched = (page: Page): Page => {
      page.on('dialog', (dialog) => {
        dialogs.push(dialog.message());
        void dialog.dismiss();
      });
      return page;
    };
    // The same without the console: it does all that, so what is watched for here would be seen.
    const victim = watched(await newPage());
    await victim.goto(`${control.url}/page`);
    await victim.waitForURL(`${control.url}/top`);
    expect(dialogs).toContain('script');
    expect(control.reached).toContain('/fetch');
    await victim.context().close();
    dialogs.length = 0;

    const sandbox = await open.sandbox('hostile-box');
    const bundle = (form: string, text: string) =>
      `class X:\n    def _repr_${form}_(self): return bytes.fromhex('${Buffer.from(text).toString('hex')}').decode()\ndisplay(X())\n`;
    const { id, done } = open.runCell(
      sandbox,
      `${bundle('html', hostileHtml(elsewhere.url))}${bundle('svg', hostileSvg(elsewhere.url))}${HUGE_SVG}${printsHostile(elsewhere.url)}`,
    );
    const page = watched(await signedIn());
    const outside: string[] = [];
    // What the policy refuses is told as a request that has failed; the server itself knows what was sent.
    page.on('response', (response) => {
      const isOurs = response.url().startsWith(`${open.url}/`) || response.url().startsWith('data:');
      if (!isOurs) outside.push(response.url());
    });
    page.on('popup', () => outside.push('popup'));
    await page.evaluate('window.notReloaded = true');
    const address = `${open.url}/executions/${id}`;
    const policy = (await page.goto(address))?.headers()['content-security-policy'];
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    await page.waitForSelector('.run.stdout pre:text("ready")');
    await sandbox.writeFile('go', '');
    const expectText = async (): Promise<void> => {
      await page.waitForSelector('.run.stdout pre:text("###")');
      const printed = (await page.locator('.run.stdout pre').allTextContents()).join('');
      expect(printed).toBe(
        `ready\n<script>alert('out')</script></pre></div><img src='${elsewhere.url}/out' onerror='alert(1)'>\n` +
          "<a href='javascript:alert(2)'>click</a> javascript:alert(3)\n" +
          '⟦U+001B⟧]0;title⟦U+0007⟧⟦U+001B⟧[2J⟦U+001B⟧[31mred ⟦U+202E⟧evil⟦U+202C⟧ ⟦U+2028⟧ ⟦U+200B⟧⟦U+000D⟧\n\n###\n',
      );
      await page.waitForSelector('.run.stderr');
      expect(await page.textContent('.run.stderr pre')).toBe('</script><svg onload=alert(4)>\n');
      expect(await page.locator('.output :not(.run, .stream, pre)').count()).toBe(0);
    };
    // As it comes, and as the page says it when it is read again.
    await expectText();
    await done;
    await page.reload();
    await expectText();

    const html = page.frameLocator('iframe.result').first();
    await html.locator('#shown').waitFor();
    for (const link of ['#send', '#self', '#top', '#blank', '#script']) {
      await html.locator(link).click();
    }
    const picture = page.locator('iframe.result').nth(1);
    await picture.scrollIntoViewIfNeeded();
    const drawn = page.frameLocator('iframe.result').nth(1).locator('img.whole');
    await drawn.waitFor();
    const box = await picture.boundingBox();
    expect((box?.width ?? 0) <= 1280 && (box?.height ?? 0) < 600).toBe(true);
    await page.waitForSelector('text=The SVG has 3 MB: 2 are the most that are shown.');

    // A last way through everything that was under way before.
    await page.evaluate('fetch(location.href).then((response) => response.text())');
    expect({ dialogs, outside, reached: elsewhere.reached, address: page.url() }).toEqual({
      ...{ dialogs: [], outside: [], reached: [], address },
    });
  });

  it('works without script: signs in, denies with a reason, approves again and again, and takes that back', async () => {
    const sandbox = await open.sandbox('plain-box');
    const page = await signedIn({ javaScriptEnabled: false });
    const first = open.run(sandbox, 'shell', 'echo denied');
    await waiting();
    await page.goto(`${open.url}/approvals`);
    await page.click('.cards a');
    await page.fill('#reason', 'Not today.');
    await page.click('button.deny');
    await page.waitForSelector('text=Denied.');
    await first.done;
    const denied = open.backend.journal.get(first.id)?.result;
    expect([denied?.outcome, denied?.stderr.includes('Not today.')]).toEqual(['denied', true]);

    const second = open.run(sandbox, 'shell', 'echo granted');
    await waiting();
    await page.goto(`${open.url}/approvals`);
    await page.click('.cards a');
    await page.check('input[value=exact]');
    await page.selectOption('#for_sec', '900');
    await page.fill('#count', '5');
    await page.check('input[name=read]');
    await page.click('button.approve');
    await second.done;
    const again = open.run(sandbox, 'shell', 'echo granted');
    await again.done;
    expect(open.backend.journal.get(again.id)?.result?.stdout).toBe('granted\n');
    const [grant] = await open.backend.grants();
    expect([grant?.scope, grant?.usesLeft]).toEqual(['exact', 3]);
    await page.goto(`${open.url}/executions/${again.id}`);
    expect(await page.textContent('.run.stdout pre')).toBe('granted\n');

    await page.goto(`${open.url}/grants`);
    await page.click('button:text("Revoke")');
    await page.waitForSelector('text=Nothing is granted.');
    expect(await open.backend.grants()).toEqual([]);
    await page.click('button:text("Sign out")');
    await page.goto(`${open.url}/`);
    await page.waitForSelector('h1:text("Sign in")');
  });

  it('says on a page that is open that its question was answered elsewhere', async () => {
    const sandbox = await open.sandbox('twice-box');
    const { done } = open.run(sandbox, 'shell', 'echo once');
    const waitingOne = await waiting();
    const page = await signedIn();
    await page.goto(`${open.url}/approvals/${waitingOne.id}`);
    await page.waitForSelector('button.approve:enabled');
    await open.backend.answer(waitingOne.id, waitingOne.hash, { approved: false }, PERSON);
    await page.waitForSelector('#standing[data-gone]');
    expect(await page.isDisabled('button.approve')).toBe(true);
    await done;
  });

  it('shows the record, whether it is whole, and gives receipts', async () => {
    const sandbox = await open.sandbox('audit-box');
    const result = await sandbox.execute("print('<script>recorded</script>')");
    const id = result.meta.executionId;
    const page = await signedIn();
    await page.goto(`${open.url}/audit?id=${id}`);
    expect(await page.textContent('.verdict')).toMatch(/^Whole\. \d+ records follow one another/);
    expect(await page.locator('.rows tbody td[data-label=Type]').allTextContents()).toEqual([
      ...['ended', 'started', 'decision', 'request'],
    ]);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a[download]')]);
    const receipt = JSON.parse(readFileSync(await download.path(), 'utf8'));
    expect(receipt.receipt.execution_id).toBe(id);

    const folder = join(open.folder, 'audit');
    const [name = ''] = readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
    const log = readFileSync(join(folder, name), 'utf8');
    writeFileSync(join(folder, name), log.replace('"language":"python"', '"language":"pythom"'));
    await expect
      .poll(
        async () => {
          await page.reload();
          return page.textContent('.verdict');
        },
        { timeout: 15_000 },
      )
      .toMatch(/^Not whole\./);
    writeFileSync(join(folder, name), log);
  });

  it.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['light on a phone', { colorScheme: 'light', viewport: { width: 320, height: 640 } }],
  ] as const)(
    'has no serious fault that axe finds, and nothing wider than the screen, in %s',
    async (name, options) => {
      const sandbox = await open.sandbox(`axe-${name.replaceAll(' ', '-')}`);
      const code =
        "import os\n\nfor name in sorted(os.listdir('/workspace')):\n\tprint(name, 'a long line that goes on and on, further than any screen is wide, with a sign that turns text around: \\u202e')   \n";
      const chart = open.runCell(
        sandbox,
        `${CHART}print('drawn')\nimport sys\nprint('and a warning', file=sys.stderr)\ndisplay([{'city': 'Bern', 'people': 134_591}])\nChart()`,
      );
      await chart.done;
      const grant = open.run(sandbox, 'shell', 'echo granted');
      const toGrant = await waiting();
      await open.backend.answer(
        toGrant.id,
        toGrant.hash,
        { approved: true, grant: { scope: 'exact' } },
        PERSON,
      );
      await grant.done;
      const { done } = open.run(sandbox, 'shell', `# ${code.replaceAll('\n', '\n# ')}\nsleep 0 # \u202e`);
      const asked = await waiting();
      // Nothing of another origin gets into a page otherwise, axe neither.
      const page = await signedIn({ ...options, bypassCSP: true });
      const paths = {
        overview: '/',
        approvals: '/approvals',
        approval: `/approvals/${asked.id}`,
        grants: '/grants',
        sandbox: `/sandboxes/${sandbox.id}`,
        execution: `/executions/${chart.id}`,
        audit: '/audit',
        'sign-in': '/sign-in',
      };
      for (const [what, path] of Object.entries(paths)) {
        await page.goto(`${open.url}${path}`);
        await page.evaluate(axe.source);
        const { violations } = (await page.evaluate(
          'axe.run(document, { resultTypes: ["violations"] })',
        )) as { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
        const grave = violations
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
        expect([what, grave]).toEqual([what, []]);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect([what, overflow]).toEqual([what, 0]);
        if (PICTURES !== undefined) {
          mkdirSync(PICTURES, { recursive: true });
          await page.screenshot({
            path: join(PICTURES, `${what}-${name.replaceAll(' ', '-')}.png`),
            fullPage: true,
          });
        }
      }
      await open.backend.answer(asked.id, asked.hash, { approved: false }, PERSON);
      await done;
    },
  );
});

/** The only question, once there is one. */
async function waiting() {
  return expect
    .poll(async () => (await open.backend.questions())[0]?.question)
    .toBeDefined()
    .then(async () => {
      const [only] = await open.backend.questions();
      if (only === undefined) throw new Error('The question is gone.');
      return only.question;
    });
}
