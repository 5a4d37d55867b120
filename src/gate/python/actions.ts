/** What calls of Python do. */
import type { Observer } from '../observer.ts';
import type { Call } from '../reading/language.ts';
import type { Action } from '../reading/perform.ts';
import { concatenated, elementsOf, NOTHING, ofTexts, type Value } from '../reading/values.ts';
import { moduleImportedBy } from './names.ts';

export const at =
  (index: number, keyword?: string) =>
  ({ args, keywords }: Call): Value | undefined =>
    args[index] ?? (keyword === undefined ? undefined : keywords.get(keyword));

export const shell: Action = (call, observer, name) =>
  observer.runsShell(
    { name, line: call.line },
    at(0, 'cmd')(call) ?? call.keywords.get('command') ?? NOTHING,
  );

/** `subprocess.run(argv, shell=...)` */
export const subprocess: Action = (call, observer, name) => {
  const doer = { name, line: call.line };
  const command = at(0, 'args')(call) ?? NOTHING;
  const { keywords, loop, isGuarded } = call;
  const shellKeyword = keywords.get('shell');
  const isShell = shellKeyword !== undefined && shellKeyword.number !== 0;
  const folder = keywords.get('cwd');
  if (command.items !== undefined && !isShell) observer.runsProgram(doer, command.items, folder);
  else if (command.items !== undefined) observer.runsShell(doer, command.items[0] ?? NOTHING, folder);
  else observer.runsShell(doer, command, folder);
  const isOwn = (command.items ?? []).some(({ names }) => names.has('__file__'));
  if (isOwn && !isGuarded && /Popen|spawn/.test(name))
    observer.see('exhausts_resources', doer, 'starts itself again', true);
  if (loop?.isEndless && !loop.hasExit && name.endsWith('Popen'))
    observer.see('exhausts_resources', doer, 'starts programs without end', true);
  const input = keywords.get('input');
  if (input !== undefined && takesCode(command)) observer.runsShell(doer, input);
  const streams = ['stdin', 'stdout', 'stderr'].map((key) => keywords.get(key));
  if (streams.some(isConnection)) handsToOthers(observer, doer);
};

/** What is typed into a shell. */
export const types: Action = (call, observer, name) => {
  const input = call.args[0] ?? call.keywords.get('input');
  if (input !== undefined && takesCode(call.receiver ?? NOTHING))
    observer.runsShell({ name, line: call.line }, input);
};

function takesCode({ items, texts }: Value): boolean {
  return /(^|\/)(ba|da|z|k)?sh$/.test(items?.[0]?.texts[0] ?? texts[0] ?? '');
}

function isConnection(value: Value | undefined): boolean {
  return [...(value?.names ?? [])].some((name) => /^socket\.(socket|create_connection)\(\)/.test(name));
}

function handsToOthers(observer: Observer, doer: { name: string; line: number }): void {
  observer.see('opens_connections', doer, 'lets another host type into a program', true);
}

/** `os.execv(path, argv)`, `os.spawnl(mode, path, ...argv)` */
export const program =
  (skipped: number): Action =>
  ({ args, line, loop }, observer, name) => {
    const [path = NOTHING, ...rest] = args.slice(skipped);
    const argv = rest[0]?.items ?? rest;
    const doer = { name, line };
    // The first of the arguments is the program's own name for itself.
    observer.runsProgram(doer, [path, ...argv.slice(1)]);
    if (loop?.isEndless && !loop.hasExit)
      observer.see('exhausts_resources', doer, 'starts programs without end', true);
  };

export const evaluates: Action = (call, observer, name) => {
  const text = at(0, 'source')(call) ?? NOTHING;
  observer.evaluates({ name, line: call.line }, 'python', text);
};

export const deletes: Action = (call, observer, name) =>
  observer.deletes({ name, line: call.line }, at(0, 'path')(call));

export const onPath =
  (
    action: (observer: Observer, doer: { name: string; line: number }, path: Value, call: Call) => void,
  ): Action =>
  (call, observer, name) =>
    action(observer, { name, line: call.line }, call.receiver ?? at(0)(call) ?? NOTHING, call);

export const reads =
  (...indices: number[]): Action =>
  (call, observer, name) => {
    for (const index of indices) observer.reads({ name, line: call.line }, at(index)(call));
  };

/** Asks a service or the system for passwords and keys. */
export const proves: Action = ({ line }, observer, name) =>
  observer.see('reads_credentials', { name, line }, 'asks for what proves who somebody is', true);

export const opens: Action = (call, observer, name) => {
  const isMethod = name.endsWith('.open') && name.startsWith('pathlib.Path');
  const path = isMethod ? call.receiver : at(0, 'file')(call);
  const mode = at(isMethod ? 0 : 1, 'mode')(call) ?? call.keywords.get('flags');
  const doer = { name, line: call.line };
  const writes = (mode?.texts ?? []).some((text) => /[wax+]/.test(text)) || (mode?.number ?? 0) > 0;
  if (writes) observer.writes(doer, path);
  else observer.reads(doer, path);
};

export const writes: Action = (call, observer, name) =>
  observer.writes({ name, line: call.line }, call.receiver, at(0)(call));

export const writesLines: Action = (call, observer, name) =>
  observer.writes({ name, line: call.line }, call.receiver, concatenated(elementsOf(at(0)(call) ?? NOTHING)));

/** `print(text, file=file)` */
export const prints: Action = ({ args, keywords, line }, observer, name) => {
  const file = keywords.get('file');
  if (file === undefined) return;
  observer.writes({ name, line }, file, concatenated([concatenated(args, ' '), ofTexts(['\n'])]));
};

export const copies: Action = (call, observer, name) => {
  const doer = { name, line: call.line };
  observer.reads(doer, at(0)(call));
  observer.writes(doer, at(1)(call), NOTHING);
};

export const moves: Action = (call, observer, name) => {
  copies(call, observer, name);
  const source = at(0)(call);
  if ((source?.texts ?? []).length > 0) observer.movesAway({ name, line: call.line }, source);
};

export const makesExecutable: Action = (call, observer, name) => {
  const isMethod = call.receiver?.names.has('pathlib.Path()') === true;
  const path = isMethod ? call.receiver : at(0)(call);
  const mode = at(isMethod ? 0 : 1, 'mode')(call);
  observer.changesMode({ name, line: call.line }, path, mode?.number);
};

export const system =
  (why: string): Action =>
  ({ line }, observer, name) =>
    observer.see('changes_the_system', { name, line }, why, true);

export const connects: Action = (call, observer, name) => {
  const doer = { name, line: call.line };
  const all = [...call.args, ...call.keywords.values()];
  observer.connects(doer, at(0, 'url')(call));
  if (all.some(sendsEnvironment))
    observer.see('reads_credentials', doer, 'sends all of the environment to another host', true);
};

function sendsEnvironment({ origins }: Value): boolean {
  return origins.has('environment');
}

export const downloads: Action = (call, observer, name) => {
  observer.connects({ name, line: call.line }, at(0)(call));
  const file = at(1, 'filename')(call) ?? call.keywords.get('out');
  for (const text of file?.texts ?? []) observer.files.addFetched(text);
};

export const rawSocket: Action = (call, observer, name) => {
  const isRaw = call.args.some(({ names }) =>
    [...names].some((one) => /^socket\.(SOCK_RAW|AF_PACKET)$/.test(one)),
  );
  const doer = { name, line: call.line };
  if (isRaw) observer.see('opens_connections', doer, 'sees and forges what others send', true);
  else observer.connects(doer);
};

export const duplicates: Action = (call, observer, name) => {
  if (call.args.some(isConnection)) handsToOthers(observer, { name, line: call.line });
};

export const forks: Action = ({ line, loop }, observer, name) => {
  observer.see('starts_programs', { name, line }, 'starts another process', false);
  if (loop?.isEndless && !loop.hasExit)
    observer.see('exhausts_resources', { name, line }, 'starts processes without end', true);
};

export const unpickles: Action = (call, observer, name) => {
  const doer = { name, line: call.line };
  const data = at(0)(call) ?? NOTHING;
  observer.runsFile(doer, 'python', { ...data, texts: name.endsWith('s') ? [] : data.texts });
  if (data.origins.has('fetched'))
    observer.see('downloads_and_runs', doer, 'can run code that is hidden in what it has fetched', true);
  else if (
    data.names.size === 0 &&
    (data.texts.length > 0 || data.origins.has('decoded')) &&
    name.endsWith('s')
  )
    observer.hides(doer, 'can run code that is hidden in the data');
  else observer.see('evaluates_text', doer, 'can run code that is hidden in the data', false);
};

/** `import name`, with the modules as texts. */
export const importsByName: Action = ({ callee, line }, observer) =>
  runsModules(observer, { name: 'import', line }, callee);

/** Those of the program's own that it has written itself. */
function runsModules(observer: Observer, doer: { name: string; line: number }, modules: Value): void {
  const files = modules.texts.map((text) => text.replaceAll('.', '/'));
  const texts = files.flatMap((file) => [`${file}.py`, `${file}/__init__.py`]);
  for (const text of texts) observer.importsFile(doer, 'python', text);
}

/** The module of a file that is named as well. */
export const loadsFile: Action = (call, observer, name) =>
  observer.runsFile({ name, line: call.line }, 'python', at(1, 'location')(call));

export const imports: Action = (call, observer, name) => {
  const module = moduleImportedBy(call);
  runsModules(observer, { name, line: call.line }, module);
  const isAssembled = module.origins.has('assembled') || module.origins.has('decoded');
  if (isAssembled && module.texts.some((text) => RISKY_MODULES.has(text.split('.')[0] ?? '')))
    observer.hides({ name, line: call.line }, 'imports a module by a name that is put together');
};

const RISKY_MODULES: ReadonlySet<string> = new Set([
  ...[
    'os',
    'posix',
    'subprocess',
    'sys',
    'shutil',
    'socket',
    'ctypes',
    'pty',
    'builtins',
    'importlib',
    'marshal',
  ],
  ...['pickle', 'code', 'runpy', 'platform', 'urllib', 'requests', 'base64', 'commands'],
]);

export const getsAttribute: Action = (call, observer, name) => {
  const [object, property] = call.args;
  const isRisky =
    object?.names.size === 1 &&
    [...object.names].some((one) => /^(builtins|os|subprocess|posix|pty)$/.test(one));
  const isListed = property?.names.has('sys.platform') || property?.names.has('builtins.dir().0');
  if (isRisky && property !== undefined && property.texts.length === 0 && !isListed)
    observer.hides({ name, line: call.line }, 'takes a function by a name that is not there to read');
};

export const runsFile: Action = (call, observer, name) => {
  const path = at(0)(call);
  const doer = { name, line: call.line };
  observer.see('starts_programs', doer, 'runs another file', false);
  observer.runsFile(doer, 'python', path);
};

export const kills: Action = (call, observer, name) => {
  const pid = at(0)(call)?.number;
  if (pid !== undefined && (pid === -1 || pid === 1))
    observer.see('changes_the_system', { name, line: call.line }, 'ends processes of others', true);
};

export const allocates: Action = (call, observer, name) => {
  const size = at(0)(call);
  const count = size?.number ?? (size?.items ?? []).reduce((total, { number = 1 }) => total * number, 1);
  if (count >= TOO_MUCH)
    observer.see('exhausts_resources', { name, line: call.line }, 'takes more memory than there is', true);
};

export const repeats: Action = (call, observer) => {
  const times = call.args.find(({ number }) => number !== undefined)?.number ?? 0;
  const repeated = call.args.find(({ texts, items }) => texts.length > 0 || items !== undefined);
  const size = repeated?.texts[0]?.length ?? repeated?.items?.length ?? 0;
  if (times * size >= TOO_MUCH)
    observer.see(
      'exhausts_resources',
      { name: 'a repetition', line: call.line },
      'takes more memory than there is',
      true,
    );
};

const TOO_MUCH = 8e9;

export const hides =
  (why: string): Action =>
  ({ line }, observer, name) =>
    observer.hides({ name, line }, why);

export const deserializes: Action = (call, observer, name) => {
  const loader = [...(call.keywords.get('Loader')?.names ?? []), ...(call.args[1]?.names ?? [])];
  if (name === 'yaml.unsafe_load' || loader.some((one) => /Unsafe|yaml\.(Full)?Loader$/.test(one)))
    unpickles(call, observer, name);
};

export const installs: Action = (call, observer, name) => {
  observer.see('installs_packages', { name, line: call.line }, 'installs packages', false);
};

export const processTarget: Action = (call, observer, name) => {
  const { loop, line, method } = call;
  if (method !== undefined && method !== 'Process' && method !== 'Thread') return;
  if (loop?.isEndless && !loop.hasExit)
    observer.see('exhausts_resources', { name, line }, 'starts processes without end', true);
};
