import { CERTIFICATES, type Installation, type Installer, NO_TOOL } from './installer.ts';

/**
 * Starts pip without anything of the sandbox's own on its path, so that no file that was left there runs as a part of
 * it. What is installed already has to be found all the same: its folder comes last, after pip has been loaded.
 */
const INSTALL = `
import importlib.util, os, site, sys
scratch, certificates, *arguments = sys.argv[1:]
if importlib.util.find_spec('pip') is None:
    print('There is no pip for', sys.executable, file=sys.stderr)
    sys.exit(${NO_TOOL})
os.mkdir(scratch, 0o700)
if certificates:
    with open(certificates, 'wb') as file:
        file.write(sys.stdin.buffer.read())
from pip._internal.cli.main import main
import pip._internal.commands.install
sys.path.append(site.getusersitepackages())
sys.exit(main(arguments))
`;

/** Only reads what is installed: no code of it runs. */
const FINISH = `
import importlib.metadata, shutil, site, sys
scratch, name = sys.argv[1:]
shutil.rmtree(scratch, ignore_errors=True)
for found in importlib.metadata.distributions(name=name, path=[site.getusersitepackages(), *sys.path]):
    print(found.version)
    break
`;

/** pip, for the Python of the sandbox: into the user's own folder, which that Python looks in by itself. */
export const pip: Installer = {
  registry: 'pypi',
  language: 'python',
  tool: 'pip',
  standard: { address: 'https://pypi.org/simple', fileHosts: ['files.pythonhosted.org'] },

  install: (installation) => ({
    args: [
      ...['-I', '-u', '-c', INSTALL, installation.scratch, certificatesFile(installation)],
      ...['install', '--user', '--no-input', '--no-cache-dir', '--disable-pip-version-check'],
      ...['--no-color', '--progress-bar', 'off', '--no-warn-script-location', '--retries', '2'],
      // To build from source is to run the package's code.
      ...(installation.allowScripts ? ['--prefer-binary'] : ['--only-binary', ':all:']),
      ...indexes(installation.addresses),
      ...(installation.certificates === 'none' ? [] : ['--cert', certificatesFile(installation)]),
      ...['--', installation.package.text],
    ],
    env: {
      HOME: installation.workspace,
      TMPDIR: installation.scratch,
      // No file of settings is read, and an older pip takes no notice of what it does not know.
      PIP_CONFIG_FILE: '/dev/null',
      PIP_BREAK_SYSTEM_PACKAGES: '1',
      PIP_ROOT_USER_ACTION: 'ignore',
      PIP_KEYRING_PROVIDER: 'disabled',
    },
  }),

  finish: ({ package: { name }, workspace, scratch }) => ({
    args: ['-I', '-B', '-c', FINISH, scratch, name],
    env: { HOME: workspace },
  }),

  failures: [
    {
      sign: /user site-packages are not visible in this virtualenv/i,
      message:
        'The Python of this sandbox belongs to a virtual environment, which takes no packages of a user. The operator can name another one with SANDBOX_PYTHON.',
    },
    {
      sign: /No space left on device/,
      message: 'The disk of the sandbox is too small for {package}. Make the sandbox with a larger diskMb.',
    },
    {
      sign: /ResolutionImpossible|conflicting dependencies/,
      message: 'What {package} needs contradicts itself, or what is asked for. Ask for another version.',
    },
    {
      sign: /requires? a different python/i,
      message: 'The versions of {package} that would fit do not run on the Python of this sandbox.',
    },
    {
      sign: /\(from versions: [^)\s]{0,50}\d/,
      message:
        'There is {package} in the registry, but not in a version that was asked for and that runs here.',
    },
    {
      sign: /No matching distribution found/,
      message:
        'The registry has nothing called {package} that can be installed here: check the name. What there is only as source code is installed with allowScripts: true.',
    },
    {
      sign: /Failed (?:building|to build)|subprocess-exited-with-error|metadata-generation-failed/,
      message: '{package} could not be built from its source code. Ask for a version that has a wheel.',
    },
  ],

  missing:
    'The operator can bring it: python3-pip on the host for runtimes that use its Python (apt-get install python3-pip), or an image built by: glovebox images build',
};

function indexes([first, ...others]: Installation['addresses']): string[] {
  return [
    ...['--index-url', first],
    ...others.flatMap((address) => ['--extra-index-url', address]),
    // pip takes nothing from an address without TLS unless its host is named so.
    ...[first, ...others].flatMap((address) => {
      const { protocol, host } = new URL(address);
      return protocol === 'http:' ? ['--trusted-host', host] : [];
    }),
  ];
}

function certificatesFile({ scratch, certificates }: Installation): string {
  return certificates === 'none' ? '' : `${scratch}/${CERTIFICATES}`;
}
