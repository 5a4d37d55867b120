/** What waits for a person, and what people have granted. */
import { type LoadOptions, loadSettings } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import { Gate } from '../gate/approval/gate.ts';
import type { Grant } from '../gate/approval/grant.ts';
import { GrantStore } from '../gate/approval/grantStore.ts';
import { Grants } from '../gate/approval/grants.ts';
import type { Answer, Question } from '../gate/approval/question.ts';
import { WaitingRoom } from '../gate/approval/waiting.ts';
import { approvalFolders, openOversight } from './oversight/open.ts';
import { defaultsOf, type Surface } from './surface.ts';

export type { Grant } from '../gate/approval/grant.ts';
export type { Answer, Question } from '../gate/approval/question.ts';
export { questionToJson } from '../gate/approval/questionJson.ts';
export { questionHtml } from '../gate/approval/show/questionHtml.ts';
export { showQuestion } from '../gate/approval/show/showQuestion.ts';

/** Questions of all processes of this user that wait, and the grants that they share. */
export class Approvals {
  readonly #room: WaitingRoom;
  readonly #gate: Gate;

  private constructor(room: WaitingRoom, gate: Gate) {
    this.#room = room;
    this.#gate = gate;
  }

  /** `onWarning` is told of what is not believed. Throws `CONFIG_INVALID`, or `INPUT_INVALID` for a user without a home. */
  static async open(
    { surface = 'cli', ...options }: LoadOptions & { readonly surface?: Surface },
    onWarning: (message: string) => void,
  ): Promise<Approvals> {
    const loaded = await loadSettings({ defaults: defaultsOf(surface), ...options });
    const folders = approvalFolders(options);
    if (folders === undefined) {
      throw new SandboxError('INPUT_INVALID', 'This user has no home, where questions could wait.', {
        hint: 'Set HOME or XDG_STATE_HOME.',
      });
    }
    const keeper = new GrantStore({ folder: folders.grants, onWarning });
    const oversight = await openOversight(loaded, { surface }, options);
    const gate = new Gate({
      ...{ rules: [], grants: new Grants({ keeper }) },
      onEvent: async (event) => void (await oversight?.record(event)),
    });
    return new Approvals(new WaitingRoom({ folder: folders.waiting, onWarning }), gate);
  }

  /** The oldest first; what is asked for one caller where one is named. */
  waiting(caller?: string): readonly Question[] {
    return this.#room.list(caller);
  }

  /** Throws `INPUT_INVALID` for what is no id, and `APPROVAL_EXPIRED` where nothing of it waits any more. */
  read(id: string): Question {
    return this.#room.read(id);
  }

  /** For the question as it was shown, which the hash names. Throws `APPROVAL_EXPIRED` when it is too late. */
  answer({ id, hash }: Question, answer: Answer): void {
    this.#room.answer(id, hash, answer);
  }

  grants(): Promise<readonly Grant[]> {
    return this.#gate.grants();
  }

  /** Throws `INPUT_INVALID` where there is no such grant. */
  async revoke(id: string): Promise<void> {
    await this.#gate.revoke(id);
  }

  async revokeAll(): Promise<void> {
    await this.#gate.revokeAll();
  }
}
