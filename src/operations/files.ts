/** What can be done with the files of a live sandbox. */
import { digest } from '../audit/digest.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { LiveSandbox } from './liveSandbox.ts';
import type { Seen } from './oversight/oversight.ts';
import type { Operate } from './oversight/sandboxes.ts';

/** What a handle offers for files, wherever its sandbox is. */
export type FileMember =
  | 'writeFile'
  | 'readFile'
  | 'readBytes'
  | 'listFiles'
  | 'removeFile'
  | 'download'
  | 'downloadTo'
  | 'upload'
  | 'uploadFrom';

type Files = Pick<LiveSandbox, FileMember>;

export function files(sandbox: Sandbox, operate: Operate): Files {
  return {
    async writeFile(path, content) {
      const bytes = typeof content === 'string' ? Buffer.from(content) : Uint8Array.from(content);
      const look = async () => (await import('./oversight/look.ts')).lookAtFile(path, bytes);
      const wish = () => ({ parameters: { path }, content: { bytes }, look });
      return operate('write_file', wish, () => sandbox.writeFile(path, bytes));
    },
    readFile: (path) =>
      operate(
        'read_file',
        () => ({ parameters: { path } }),
        () => sandbox.readFile(path),
        ({ content, encoding }) => ({ content: digest(Buffer.from(content, encoding)) }),
      ),
    readBytes: (path) =>
      operate(
        'read_file',
        () => ({ parameters: { path } }),
        () => sandbox.readBytes(path),
        (bytes) => ({ content: digest(bytes) }),
      ),
    listFiles: (path) =>
      operate(
        'list_files',
        () => ({ parameters: { path: path ?? '.' } }),
        () => sandbox.listFiles(path),
        (listed) => ({ files: listed.files.length, truncated: listed.truncated ?? false }),
      ),
    removeFile: (path, options) =>
      operate(
        'remove_file',
        () => ({ parameters: { path, recursive: options?.recursive ?? false } }),
        () => sandbox.removeFile(path, options),
      ),
    download: (path, options) =>
      operate(
        'read_file',
        () => ({ parameters: { path: path ?? '.', as: 'tar' } }),
        () => sandbox.download(path, options),
      ),
    downloadTo: (path, hostFolder, options) =>
      operate(
        'read_file',
        () => ({ parameters: { path, host_folder: hostFolder } }),
        () => sandbox.downloadTo(path, hostFolder, options),
        carried,
      ),
    upload: (path, archive, options) =>
      operate(
        'write_file',
        () => ({ parameters: { path, as: 'tar' }, unknownContent: UNREAD_ARCHIVE, look: unread }),
        () => sandbox.upload(path, archive, options),
        carried,
      ),
    uploadFrom: (hostPath, path, options) =>
      operate(
        'write_file',
        () => ({
          parameters: { path: path ?? '.', host_path: hostPath },
          unknownContent: UNREAD_HOST_FILES,
          look: unread,
        }),
        () => sandbox.uploadFrom(hostPath, path, options),
        carried,
      ),
  };
}

const UNREAD_ARCHIVE = 'The archive is read while it is unpacked.';
const UNREAD_HOST_FILES = 'What is there on this host is read while it is carried in.';

/** It counts as code that cannot be looked at. */
async function unread(): Promise<Seen> {
  return { sights: [], notInspected: 'The content of an archive is not looked at.' };
}

function carried({
  files,
  folders,
  bytes,
}: {
  readonly files: number;
  readonly folders: number;
  readonly bytes: number;
}) {
  return { files, folders, bytes };
}
