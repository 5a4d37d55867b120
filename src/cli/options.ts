/** What the options of several commands share. */

/** Collects an option that is given again and again. */
export function each(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

export const CONFIG = ['--config <file>', "a settings file instead of the user's and the project's"] as const;

export const JSON_FLAG = ['--json', 'print JSON'] as const;
