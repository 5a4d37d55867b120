import { randomBytes } from 'node:crypto';

/** The user that a sandbox's programs run as, in the host's numbers. */
export interface SandboxUser {
  readonly uid: number;
  readonly gid: number;
}

/** User ids that no account has: each sandbox of root's gets one of its own (2^24 from here). */
const FIRST_SANDBOX_UID = 0x60000000;

/** Root gives each sandbox a user id of its own; anybody else can only give their own. */
export function chooseSandboxUser(): SandboxUser {
  if (process.getuid?.() === 0) {
    const id = FIRST_SANDBOX_UID + randomBytes(3).readUIntBE(0, 3);
    return { uid: id, gid: id };
  }
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

/** What we make for the sandbox must be given to its user, where that is not us. */
export function ownerOtherThanUs(user: SandboxUser): SandboxUser | undefined {
  return user.uid === process.getuid?.() ? undefined : user;
}
