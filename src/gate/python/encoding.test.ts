import { describe, expect, it } from 'vitest';
import { inspectImports } from '../inspect.ts';
import { inspectCode } from '../inspectCode.ts';
import { unusualEncoding } from './encoding.ts';

const HIDDEN = "x = 1  #+AAo-import shutil+ADs-shutil.rmtree('/x')\n";

describe('a Python program that declares an encoding in which it is another text', () => {
  it.each<[string, string]>([
    ['the first line', `# -*- coding: utf-7 -*-\n${HIDDEN}`],
    ['the second line', `#!/usr/bin/python3\n# vim: set fileencoding=utf_7 :\n${HIDDEN}`],
    ['a line behind blanks', `\n \t\f#coding=UTF-7\n${HIDDEN}`],
    ['a file with a mark of its byte order', `\ufeff# coding: utf-7\n${HIDDEN}`],
    ['a line that ends as on Windows', `# coding: utf-7\r\n${HIDDEN}`],
    ['a second word', `# coding:! coding: utf-7\n${HIDDEN}`],
    ['a program that cannot be parsed', `# coding: unicode_escape\n"""\\x22\\x22\\x22\n)(`],
  ])('in %s hides what it does', async (_, code) => {
    const { sights } = await inspectCode(code, 'python');
    expect(sights).toContainEqual(
      expect.objectContaining({ effect: 'hides_what_it_does', isDangerous: true }),
    );
  });

  it('names the encoding and the line', () => {
    expect(unusualEncoding('#!/bin/python\n# coding: utf-7\n')).toEqual({ name: 'utf-7', line: 2 });
    expect(unusualEncoding(`# coding: ${'x'.repeat(100)}\n`)?.name).toHaveLength(40);
  });

  it('is not let through by the check of imports', async () => {
    const list = ['shutil'];
    expect(await inspectImports(`# coding: utf-7\n${HIDDEN}`, 'python', list)).toMatchObject({
      parsed: false,
      notChecked: expect.stringContaining('utf-7'),
    });
    expect(await inspectImports('import shutil', 'python', list)).toMatchObject({ parsed: true });
  });
});

describe('a Python program is what is shown', () => {
  it.each([
    '# -*- coding: utf-8 -*-',
    '# coding: UTF8',
    '# coding=utf_8_sig',
    '# vim: set fileencoding=ASCII :',
    '# coding: us-ascii',
    '# coding: Latin_1',
    '# coding: iso-8859-1',
    'print(1)',
    '# a text on encoding things',
    '\n\n# coding: utf-7',
    'coding = "utf-7"',
  ])('with %j', async (first) => {
    expect(unusualEncoding(`${first}\nprint(1)\n`)).toBeUndefined();
    expect((await inspectCode(`${first}\nprint(1)\n`, 'python')).sights).toEqual([]);
  });

  it('also behind a mark of its byte order', async () => {
    const { sights } = await inspectCode("\ufeffimport shutil\nshutil.rmtree('/x')\n", 'python');
    expect(sights).toMatchObject([{ effect: 'deletes_files', line: 2 }]);
  });
});
