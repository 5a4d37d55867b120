/** What calls of JavaScript do. */
import type { Observer } from '../observer.ts';
import * as decoding from '../reading/decoding.ts';
import type { Call } from '../reading/language.ts';
import type { Action, Knowledge } from '../reading/perform.ts';
import { concatenated, mapTexts, NOTHING, UNKNOWN, type Value } from '../reading/values.ts';
import { FETCHES, OF_AN_OBJECT } from './names.ts';
import { IMPORTERS } from './results.ts';

export const JAVASCRIPT_KNOWLEDGE: Knowledge = {
  actionOf: (name) => {
    const plain = name.replace(/^((?:fs|child_process)\.\w+?)Sync$/, '$1');
    return ACTIONS.get(plain) ?? PATTERNS.find(([pattern]) => pattern.test(plain))?.[1];
  },
  shown: (name) => name.replaceAll('()', ''),
  isNotable: (name) =>
    /^(eval|Function(?!\(\))|require|process\.(binding|dlopen|kill|getBuiltinModule)|child_process\.|fs\.(rm|unlink|write|chmod)|vm\.|module\.)/.test(
      name,
    ),
  isLooking: (name) => name.startsWith('console.'),
  isEvaluating: (name) => /^(eval|Function|vm\.(runIn\w+|Script|SourceTextModule))$/.test(name),
};

type Doer = Parameters<Observer['deletes']>[0];

const doing =
  (does: (observer: Observer, doer: Doer, call: Call) => void): Action =>
  (call, observer, name) =>
    does(observer, { name, line: call.line }, call);

const shell = doing((observer, doer, { args: [command = NOTHING, options] }) => {
  observer.runsShell(doer, command, options?.entries?.get('cwd'));
  const input = options?.entries?.get('input');
  if (input !== undefined && PLAIN_SHELL.test(command.texts[0] ?? '')) observer.runsShell(doer, input);
});

/** A shell that does what it reads. */
const PLAIN_SHELL = /^\s*([\w./]*\/)?(ba|da|z|k)?sh( +-\w*)*\s*$/;

/** `spawn(file, args, { shell })` */
const program = doing((observer, doer, { args: [file = NOTHING, ...rest], loop, isGuarded }) => {
  const list = rest.find(({ items }) => items !== undefined)?.items ?? [];
  const options = rest.find(({ entries }) => entries !== undefined)?.entries;
  const folder = options?.get('cwd');
  const shellOption = options?.get('shell');
  const isShell = shellOption !== undefined && shellOption.number !== 0;
  if (isShell)
    observer.runsShell(doer, list.length === 0 ? file : concatenated([file, ...list], ' '), folder);
  else observer.runsProgram(doer, [file, ...list], folder);
  const input = options?.get('input');
  if (input !== undefined && /(^|\/)(ba|da|z|k)?sh$/.test(file.texts[0] ?? ''))
    observer.runsShell(doer, input);
  const streams = options?.get('stdio')?.items ?? [];
  if (streams.some(isConnection)) handsToOthers(observer, doer);
  const isOwn = [...list, file].some(({ names }) => names.has('__filename'));
  if ((isOwn && !isGuarded) || (loop?.isEndless && !loop.hasExit))
    observer.see('exhausts_resources', doer, 'starts programs without end', true);
});

const forks = doing((observer, doer, { args: [file = NOTHING], loop, isGuarded }) => {
  observer.see('starts_programs', doer, 'starts another process', false);
  observer.runsFile(doer, 'javascript', file);
  if ((file.names.has('__filename') && !isGuarded) || (loop?.isEndless && !loop.hasExit))
    observer.see('exhausts_resources', doer, 'starts processes without end', true);
});

/** The last argument is the code; those before it are names of parameters. */
const makesFunction = doing((observer, doer, { args, callee }) => {
  const body = args.at(-1);
  // Any object has a constructor, and few of them make functions.
  const isVague = callee.names.has(OF_AN_OBJECT);
  if (
    isVague &&
    (body?.texts.every((text) => text.includes(UNKNOWN)) ?? true) &&
    !HIDDEN.some((origin) => body?.origins.has(origin))
  )
    return;
  if (body !== undefined) observer.evaluates(doer, 'javascript', inFunction(body));
});

const HIDDEN = ['assembled', 'decoded', 'fetched', 'asked'] as const;

/** A body may return, which a script may not. */
function inFunction(body: Value): Value {
  return mapTexts(body, (text) => `(async function(){${text}\n})`);
}

const evaluates = doing((observer, doer, { args: [text] }) => {
  // Other values come back as they are.
  if (text === undefined || text.functions.length > 0 || text.number !== undefined) return;
  observer.evaluates(doer, 'javascript', text);
});

/** `setTimeout('text', 1)`; mostly it is given a function. */
const later = doing((observer, doer, { args: [text] }) => {
  if (text !== undefined && text.texts.length > 0) observer.evaluates(doer, 'javascript', text);
  else if (text?.origins.has('fetched') && text.functions.length === 0)
    observer.evaluates(doer, 'javascript', text);
});

const works = doing((observer, doer, { args: [code = NOTHING, options] }) => {
  const isText = options?.entries?.get('eval')?.number === 1;
  if (isText) observer.evaluates(doer, 'javascript', code);
  else imports(observer, doer, code);
});

/** What a module's file may have beyond the name that is asked for. */
const ENDINGS = ['', '.js', '.cjs', '.mjs', '/index.js'] as const;

/** A module by its name, its address, or as a whole in a `data:` address. */
function imports(observer: Observer, doer: Doer, module: Value): void {
  for (const text of module.texts) {
    const data = /^data:[^,]*?(;base64)?,(.*)$/s.exec(text);
    if (data !== null) {
      const [, isBase64, body = ''] = data;
      const code = isBase64 === undefined ? decoding.percentDecoded(body) : decoding.fromBase64(body);
      observer.evaluates(
        doer,
        'javascript',
        mapTexts({ ...module, texts: [body] }, () => code, ['decoded']),
      );
    } else if (/^https?:/.test(text)) {
      observer.see('downloads_and_runs', doer, 'runs what it has fetched from elsewhere', true);
    } else if (!text.endsWith('.json')) {
      for (const ending of ENDINGS) observer.importsFile(doer, 'javascript', text + ending);
    }
  }
  const isHidden = module.origins.has('assembled') || module.origins.has('decoded');
  if (isHidden && module.texts.some((text) => RISKY_MODULES.has(text.replace(/^node:/, ''))))
    observer.hides(doer, 'imports a module by a name that is put together');
}

const RISKY_MODULES: ReadonlySet<string> = new Set([
  ...[
    'child_process',
    'fs',
    'fs/promises',
    'vm',
    'net',
    'http',
    'https',
    'os',
    'module',
    'process',
    'dgram',
    'worker_threads',
    'cluster',
    'repl',
    'v8',
    'inspector',
  ],
]);

const deletes = doing((observer, doer, { args: [path] }) => {
  if (path?.items === undefined) observer.deletes(doer, path);
  else for (const item of path.items) observer.deletes(doer, item);
});
const reads = doing((observer, doer, { args: [path] }) => observer.reads(doer, path));
const writes = doing((observer, doer, { args: [path, content] }) => observer.writes(doer, path, content));
const copies = doing((observer, doer, { args: [from, to] }) => {
  observer.reads(doer, from);
  observer.writes(doer, to);
});
const moves = doing((observer, doer, { args: [from, to] }) => {
  observer.movesAway(doer, from);
  observer.writes(doer, to);
});
const opens = doing((observer, doer, { args: [path, flags] }) => {
  if ((flags?.texts ?? []).some((text) => /[wa+]/.test(text))) observer.writes(doer, path);
  else observer.reads(doer, path);
});
const makesExecutable = doing((observer, doer, { args: [path, mode] }) => {
  const number = mode?.number ?? Number.parseInt(mode?.texts[0] ?? '', 8);
  observer.changesMode(doer, path, Number.isNaN(number) ? undefined : number);
});

const connects = doing((observer, doer, { args }) => {
  observer.connects(doer, args[0]);
  if (args.some(({ origins }) => origins.has('environment')))
    observer.see('reads_credentials', doer, 'sends all of the environment to another host', true);
});

const CONNECTION = /^(net|tls)\.(connect|createConnection|Socket|Socket\(\)\.connect|createServer)\(\)/;
const PROGRAM = /^child_process\.\w+\(\)/;

function isConnection({ names, origins }: Value): boolean {
  return origins.has('socket') || [...names].some((name) => CONNECTION.test(name));
}

function handsToOthers(observer: Observer, doer: Doer): void {
  observer.see('opens_connections', doer, 'lets another host type into a program', true);
}

/** `from.pipe(to)`: a shell at one end of a connection, or a download into a file. */
const pipes = doing((observer, doer, { receiver = NOTHING, args }) => {
  const [to = NOTHING] = args;
  const isProgram = (value: Value): boolean => [...value.names].some((name) => PROGRAM.test(name));
  const isRemote = (value: Value): boolean => isConnection(value) || value.origins.has('fetched');
  if ((isProgram(receiver) && isConnection(to)) || (isRemote(receiver) && isProgram(to)))
    handsToOthers(observer, doer);
  if (to.texts.length > 0) observer.writes(doer, to, receiver);
});

/** What is typed into a shell. */
const types = doing((observer, doer, { receiver = NOTHING, args: [input] }) => {
  if (input !== undefined && SHELL.test(receiver.texts[0] ?? '')) observer.runsShell(doer, input);
});

const SHELL = /(^|\/)(ba|da|z|k)?sh$/;
const SENDS =
  /^(https?\.request|net\.(connect|createConnection|Socket)|tls\.connect|WebSocket|ws)\(\)\.(write|end|send)$/;

const kills = doing((observer, doer, { args: [pid] }) => {
  if (pid?.number === 1 || pid?.number === -1)
    observer.see('changes_the_system', doer, 'ends processes of others', true);
});

const allocates = doing((observer, doer, { args: [size], receiver }) => {
  const count = (size?.number ?? 0) * Math.max(1, receiver?.texts[0]?.length ?? 1);
  if (count >= 4e9) observer.see('exhausts_resources', doer, 'takes more memory than there is', true);
});

/** Asks a service or the system for passwords and keys. */
const proves = doing((observer, doer) =>
  observer.see('reads_credentials', doer, 'asks for what proves who somebody is', true),
);

const hides = (why: string): Action => doing((observer, doer) => observer.hides(doer, why));
const system = (why: string): Action =>
  doing((observer, doer) => observer.see('changes_the_system', doer, why, true));

const each = (prefix: string, names: readonly string[], action: Action): [string, Action][] =>
  names.map((name) => [`${prefix}${name}`, action]);

const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['child_process.exec', shell],
  ...each('child_process.', ['spawn', 'execFile'], program),
  ['child_process.fork', forks],
  ['cluster.fork', forks],
  ...each('', ['shelljs.exec', 'execa.execaCommand', 'execa.$', 'zx.$', 'Bun.$', 'execSync', 'bun.$'], shell),
  ...each(
    '',
    ['execa', 'execa.execa', 'execa.execaSync', 'cross-spawn', 'cross-spawn.sync', 'cross-spawn.spawn'],
    program,
  ),
  ...each(
    '',
    ['Bun.spawn', 'Bun.spawnSync'],
    doing((observer, doer, { args: [argv] }) => observer.runsProgram(doer, argv?.items ?? [])),
  ),
  [
    'Deno.Command',
    doing((observer, doer, { args: [file = NOTHING, options] }) =>
      observer.runsProgram(doer, [file, ...(options?.entries?.get('args')?.items ?? [])]),
    ),
  ],
  [
    'Deno.run',
    doing((observer, doer, { args: [options] }) =>
      observer.runsProgram(doer, options?.entries?.get('cmd')?.items ?? []),
    ),
  ],
  ['eval', evaluates],
  ['Function', makesFunction],
  ['vm.runInThisContext', evaluates],
  ['vm.runInNewContext', evaluates],
  ['vm.runInContext', evaluates],
  ['vm.Script', evaluates],
  ['vm.SourceTextModule', evaluates],
  [
    'vm.compileFunction',
    doing((observer, doer, { args: [body = NOTHING] }) =>
      observer.evaluates(doer, 'javascript', inFunction(body)),
    ),
  ],
  ['vm.VM().run', evaluates],
  ['vm.NodeVM().run', evaluates],
  ['setTimeout', later],
  ['setInterval', later],
  ['setImmediate', later],
  ['Worker', works],
  ['worker_threads.Worker', works],
  ...[...IMPORTERS].map((name): [string, Action] => [
    name,
    doing((observer, doer, { args: [module = NOTHING] }) => imports(observer, doer, module)),
  ]),
  ['module()._compile', evaluates],
  ['module._compile', evaluates],
  ...each('process.', ['binding', '_linkedBinding', 'dlopen'], hides('reaches into the internals of Node')),
  ...each('fs.', ['rm', 'rmdir', 'unlink', 'truncate', 'remove', 'emptyDir'], deletes),
  ...each(
    '',
    [
      'rimraf',
      'rimraf.sync',
      'rimraf.rimraf',
      'rimraf.rimrafSync',
      'del',
      'del.deleteAsync',
      'del.deleteSync',
      'trash',
      'Deno.remove',
      'Deno.removeSync',
    ],
    deletes,
  ),
  [
    'shelljs.rm',
    doing((observer, doer, { args }) => {
      for (const path of args) for (const one of path.items ?? [path]) observer.deletes(doer, one);
    }),
  ],
  ...each('fs.', ['readFile', 'createReadStream', 'readdir', 'opendir', 'readJson', 'readlink'], reads),
  ...each('', ['Deno.readTextFile', 'Deno.readFile', 'Bun.file', 'dotenv.config'], reads),
  ...each(
    'fs.',
    ['writeFile', 'appendFile', 'createWriteStream', 'outputFile', 'mkdir', 'writeJson'],
    writes,
  ),
  ...each(
    '',
    [
      'keytar.getPassword',
      'keytar.findCredentials',
      'keytar.findPassword',
      '@aws-sdk/client-secrets-manager.GetSecretValueCommand',
      'aws-sdk.SecretsManager().getSecretValue',
      '@google-cloud/secret-manager.SecretManagerServiceClient().accessSecretVersion',
      '@azure/keyvault-secrets.SecretClient().getSecret',
    ],
    proves,
  ),
  ...each('', ['Deno.writeTextFile', 'Bun.write'], writes),
  ...each('fs.', ['copyFile', 'cp', 'copy', 'symlink', 'link'], copies),
  ...each('fs.', ['rename', 'move'], moves),
  ['fs.open', opens],
  ['process.chdir', doing((observer, _doer, { args: [folder] }) => observer.goesTo(folder))],
  ...each('fs.', ['chmod', 'lchmod'], makesExecutable),
  ...each('fs.', ['chown', 'lchown'], writes),
  [
    'fs.createWriteStream().write',
    doing((observer, doer, { receiver, args: [content] }) => observer.writes(doer, receiver, content)),
  ],
  [
    'stream.pipeline',
    doing((observer, doer, { args }) => {
      const to = args.findLast(({ texts }) => texts.length > 0);
      observer.writes(doer, to, args[0]);
    }),
  ],
  ...each(
    'process.',
    ['setuid', 'setgid', 'seteuid', 'setegid', 'setgroups', 'initgroups'],
    system('changes whose rights the program has'),
  ),
  ['process.kill', kills],
  ...each(
    '',
    ['Buffer.alloc', 'Buffer.allocUnsafe', 'Array', 'Uint8Array', 'ArrayBuffer', 'Float64Array'],
    allocates,
  ),
]);

const PATTERNS: readonly (readonly [RegExp, Action])[] = [
  [/\.pipe$/, pipes],
  [FETCHES, connects],
  [SENDS, connects],
  [/^child_process\.\w+\(\)\.stdin\.(write|end)$/, types],
  [
    /^(globalThis|process|child_process|vm|module)\.\0$/,
    hides('takes a function by a name that is not there to read'),
  ],
];
