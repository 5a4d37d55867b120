import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate authority of our own, and a certificate of it for some names. */
export interface Certificates {
  /** The file of the authority's certificate, for `NODE_EXTRA_CA_CERTS`, `SSL_CERT_FILE` and `--cacert`. */
  readonly authorityFile: string;
  readonly key: Buffer;
  readonly certificate: Buffer;
  remove(): void;
}

/** Made with the `openssl` of this machine, and valid for two days. */
export function makeCertificates(names: readonly string[]): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'egress-certificates-'));
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  };
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '2',
    '-subj',
    '/CN=Test CA',
  );
  openssl('req', ...newKey, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=server');
  writeFileSync(at('names'), `subjectAltName=${names.map((name) => `DNS:${name}`).join()}\n`);
  openssl(
    ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...['-out', 'server.crt', '-days', '2', '-extfile', 'names'],
  );
  return {
    authorityFile: at('ca.crt'),
    key: readFileSync(at('server.key')),
    certificate: readFileSync(at('server.crt')),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
