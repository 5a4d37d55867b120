import { CERTIFICATES, type Installation, type Installer, NO_TOOL } from './installer.ts';

/**
 * Finds npm: a command on PATH, which leads to its program, or what comes with Node.js. It becomes npm itself, so there
 * is one process.
 */
const INSTALL = `
const { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { argv, env } = require('node:process');
const [scratch, certificates, besides, ...rest] = argv.slice(1);
const folders = (env.PATH || '').split(':').filter((folder) => folder.startsWith('/'));
const cli = [
  ...folders.map((folder) => join(folder, 'npm')).filter((file) => existsSync(file)).map((file) => realpathSync(file)),
  join(dirname(dirname(process.execPath)), 'lib/node_modules/npm/bin/npm-cli.js'),
].find((file) => file.endsWith('/npm-cli.js') && existsSync(file));
if (cli === undefined) {
  console.error('There is no npm for ' + process.execPath);
  process.exit(${NO_TOOL});
}
mkdirSync(scratch, { mode: 0o700 });
if (certificates !== '') {
  const own = besides === 'besides' ? require('node:tls').rootCertificates : [];
  writeFileSync(certificates, [...own, readFileSync(0)].join('\\n'));
}
process.argv = [process.execPath, cli, ...rest];
require(cli);
`;

/** Only reads what is installed: no code of it runs. */
const FINISH = `
const { readFileSync, rmSync } = require('node:fs');
const [scratch, file] = process.argv.slice(1);
rmSync(scratch, { recursive: true, force: true });
console.log(JSON.parse(readFileSync(file, 'utf8')).version);
`;

/** npm, for the Node.js of the sandbox: into the workspace's node_modules, where imports of its files find it. */
export const npm: Installer = {
  registry: 'npm',
  language: 'javascript',
  tool: 'npm',
  standard: { address: 'https://registry.npmjs.org/', fileHosts: [] },

  install: (installation) => ({
    args: [
      ...['-e', INSTALL, installation.scratch, certificatesFile(installation), installation.certificates],
      ...['install', '--prefix', installation.workspace, '--global=false', '--save'],
      ...['--registry', installation.addresses[0], '--cache', `${installation.scratch}/cache`],
      ...['--no-audit', '--no-fund', '--no-update-notifier', '--no-progress', '--color=false'],
      // A line for each request: otherwise it says nothing until its end.
      '--loglevel=http',
      installation.allowScripts ? '--no-ignore-scripts' : '--ignore-scripts',
      ...(installation.certificates === 'none' ? [] : ['--cafile', certificatesFile(installation)]),
      // It would wait for minutes before it tries again.
      ...['--fetch-retry-mintimeout', '500', '--fetch-retry-maxtimeout', '5000'],
      // What files of the workspace could set otherwise; no git is reached from here.
      ...['--strict-ssl', '--git', '/bin/false'],
      ...['--proxy', installation.proxy, '--https-proxy', installation.proxy],
      ...['--', installation.package.text],
    ],
    env: { HOME: installation.workspace, TMPDIR: installation.scratch },
  }),

  finish: ({ package: { name }, workspace, scratch }) => ({
    args: ['-e', FINISH, scratch, `${workspace}/node_modules/${name}/package.json`],
    env: { HOME: workspace },
  }),

  failures: [
    {
      sign: /\bcode ENOSPC\b|no space left on device/i,
      message: 'The disk of the sandbox is too small for {package}. Make the sandbox with a larger diskMb.',
    },
    {
      sign: /\bcode E404\b/,
      message:
        'The registry has nothing called {package}, or something that it needs is not there: check the name.',
    },
    {
      sign: /\bcode ETARGET\b/,
      message: 'There is {package} in the registry, but not in the version that was asked for.',
    },
    {
      sign: /\bcode ERESOLVE\b/,
      message: 'What {package} needs contradicts what is installed already. Ask for another version.',
    },
    {
      sign: /\bcode EINTEGRITY\b/,
      message: 'The registry sent something else than it had promised for {package}; nothing of it is used.',
    },
    {
      sign: /\bcode E(?:BAD|UNSUPPORTED)(?:ENGINE|PLATFORM)\b/,
      message:
        '{package} does not run on the Node.js or the system of this sandbox. Ask for another version.',
    },
    {
      sign: /\bcode (?:EALLOWGIT|ENOGIT)\b|\bAn unknown git error occurred\b/,
      message: '{package} needs something from a git repository, and only the registry can be reached.',
    },
  ],

  missing:
    'The operator can bring it: npm beside the Node.js of the host for runtimes that use it, or an image built by: glovebox images build',
};

function certificatesFile({ scratch, certificates }: Installation): string {
  return certificates === 'none' ? '' : `${scratch}/${CERTIFICATES}`;
}
