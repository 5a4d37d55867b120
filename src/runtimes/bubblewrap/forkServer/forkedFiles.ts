import type { GuestFiles } from '../../host/hostGuest.ts';
import { PendingFiles } from '../../host/pendingFiles.ts';
import { inodesFor } from '../../host/stage.ts';
import type { WorkspaceFiles } from '../../host/workspaceFiles.ts';

/** The root, the three folders and the file that `build_view` in forkServer.py makes there, and the program's input. */
const ENTRIES_OF_OURS = 6;

/**
 * The files of a sandbox whose program waits. Until it is sent off they are kept here, and go with its orders: the
 * workspace is in a user namespace in which the host's root is nobody, and may make nothing. Afterwards they can be
 * read there.
 */
export class ForkedFiles implements GuestFiles {
  readonly #pending: PendingFiles;
  readonly #workspace: WorkspaceFiles;
  #operations: Pick<GuestFiles, 'read' | 'list' | 'pack'>;

  constructor(diskMb: number, workspace: WorkspaceFiles) {
    this.#pending = new PendingFiles(diskMb * 1024 ** 2, inodesFor(diskMb) - ENTRIES_OF_OURS);
    this.#workspace = workspace;
    this.#operations = this.#pending;
  }

  /** Hands out what was written, by path in the workspace; from now on the workspace itself is read. */
  take(): ReadonlyMap<string, Uint8Array> {
    this.#operations = this.#workspace;
    return this.#pending.all;
  }

  read: GuestFiles['read'] = (path, maxBytes) => this.#operations.read(path, maxBytes);

  list: GuestFiles['list'] = (path, maxEntries) => this.#operations.list(path, maxEntries);

  pack: GuestFiles['pack'] = (path, limits, signal) => this.#operations.pack(path, limits, signal);

  write: GuestFiles['write'] = (path, data) => this.#pending.write(path, data);

  remove: GuestFiles['remove'] = (path) => this.#pending.remove(path);

  unpack: GuestFiles['unpack'] = () => this.#pending.unpack();
}
