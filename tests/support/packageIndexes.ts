/** Package registries on this machine's loopback, with packages that are made on the spot. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';

const { pack } = createRequire(import.meta.url)('tar-stream') as typeof import('tar-stream');

/** What a file of a package holds, by its path in it. */
export type Files = Readonly<Record<string, string>>;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface LoopbackServer {
  /** As a mapping of hosts takes it. */
  readonly endpoint: string;
  /** The paths that were asked for, each with its method. */
  readonly requests: string[];
}

/** A server that is gone when the test is over. */
export async function serve(answer: Answer): Promise<LoopbackServer> {
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  return { endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** An index for pip (PEP 503) below `/simple`, with these files. */
export function pythonIndex(files: Readonly<Record<string, Buffer>>): Answer {
  return (request, response) => {
    const [, folder, name = ''] = /^\/(simple|files)\/([^/]+)\/?$/.exec(request.url ?? '') ?? [];
    const file = files[name];
    if (folder === 'files' && file !== undefined) return void response.end(file);
    const links = Object.keys(files).filter((known) => known.split('-')[0] === name.replaceAll('-', '_'));
    if (folder !== 'simple' || links.length === 0) return notFound(response);
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!DOCTYPE html>${links.map((link) => `<a href="/files/${link}">${link}</a>`).join('')}`);
  };
}

/** Python's own packer: entries of a wheel with right sums, or of an archive of sources. */
const PACK = `
import base64, hashlib, io, json, sys, tarfile, zipfile
kind, name, version, files = json.load(sys.stdin)
out = io.BytesIO()
if kind == 'wheel':
    info = f'{name}-{version}.dist-info'
    files = {**files, f'{info}/METADATA': f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n' + files.pop('METADATA', ''),
        f'{info}/WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}
    if 'entry_points.txt' in files: files[f'{info}/entry_points.txt'] = files.pop('entry_points.txt')
    lines = []
    with zipfile.ZipFile(out, 'w') as archive:
        for path, text in files.items():
            archive.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()
            lines.append(f'{path},sha256={digest},{len(text.encode())}')
        archive.writestr(f'{info}/RECORD', '\\n'.join([*lines, f'{info}/RECORD,,', '']))
else:
    with tarfile.open(fileobj=out, mode='w:gz') as archive:
        for path, text in {**files, 'PKG-INFO': f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n'}.items():
            entry = tarfile.TarInfo(f'{name}-{version}/{path}')
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
sys.stdout.buffer.write(out.getvalue())
`;

function packPython(kind: 'wheel' | 'sources', name: string, version: string, files: Files): Buffer {
  return execFileSync(process.env['SANDBOX_PYTHON'] ?? 'python3', ['-I', '-c', PACK], {
    input: JSON.stringify([kind, name, version, files]),
    maxBuffer: 256 * 1024 * 1024,
  });
}

/** A wheel for any Python; `METADATA` in its files is added to what it says of itself. */
export function wheel(name: string, version: string, files: Files): Record<string, Buffer> {
  return { [`${name}-${version}-py3-none-any.whl`]: packPython('wheel', name, version, files) };
}

/** Sources that build themselves, by a `backend.py` that runs `code` first and then makes a wheel with one module. */
export function sources(name: string, version: string, code: string): Record<string, Buffer> {
  const files = {
    'pyproject.toml': '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    'backend.py': `
import zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    code()
    info = '${name}-${version}.dist-info'
    with zipfile.ZipFile(folder + '/${name}-${version}-py3-none-any.whl', 'w') as archive:
        archive.writestr('${name}.py', 'value = 42')
        archive.writestr(info + '/METADATA', 'Metadata-Version: 2.1\\nName: ${name}\\nVersion: ${version}\\n')
        archive.writestr(info + '/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        archive.writestr(info + '/RECORD', '')
    return '${name}-${version}-py3-none-any.whl'
def code():
${code.replace(/^/gm, '    ')}
`,
  };
  return { [`${name}-${version}.tar.gz`]: packPython('sources', name, version, files) };
}

/** One version of a package of npm. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** What else its `package.json` says. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** By their path in the archive, where everything is below `package/`. */
  readonly files?: Files;
  /** Links of the archive, by their path, and where they lead. */
  readonly links?: Files;
}

/** A registry for npm, reached by this address, with these packages. */
export async function npmRegistry(address: string, packages: readonly NpmPackage[]): Promise<Answer> {
  const archives = new Map<string, Buffer>();
  const documents = new Map<string, unknown>();
  for (const entry of packages) {
    const { name, version, manifest = {} } = entry;
    const archive = await npmArchive(entry);
    const path = `/${name}/-/${name}-${version}.tgz`;
    archives.set(path, archive);
    const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
    const dist = { tarball: `${address}${path}`, integrity };
    documents.set(`/${name}`, {
      name,
      'dist-tags': { latest: version },
      versions: {
        [version]: { name, version, ...manifest, dist: { ...dist, ...(manifest['dist'] as object) } },
      },
    });
  }
  return (request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    const archive = archives.get(path);
    if (archive !== undefined) return void response.end(archive);
    const document = documents.get(path);
    if (document === undefined) return notFound(response);
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(document));
  };
}

async function npmArchive({ name, version, manifest, files = {}, links = {} }: NpmPackage): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: 'package/package.json' }, JSON.stringify({ name, version, ...manifest }));
  for (const [path, linkname] of Object.entries(links))
    archive.entry({ name: path, type: 'symlink', linkname });
  for (const [path, text] of Object.entries(files)) archive.entry({ name: path }, text);
  archive.finalize();
  return gzipSync(await buffer(archive));
}

function notFound(response: ServerResponse): void {
  response.statusCode = 404;
  response.end('{"error":"not found"}');
}
