import type { Inspection } from '../gate/inspection.ts';
import type { Context } from './context.ts';
import type { Prepared } from './job.ts';

/** `message` tells a model what was refused; empty when nothing was. */
export type Checked = Inspection & { readonly blocked: boolean; readonly message: string };

/** Looks at the code, where the settings say so. */
export async function inspect(context: Context, { language, code }: Prepared): Promise<Checked> {
  const { blockDangerousImports, blockedImports } = context.loaded.settings;
  if (blockDangerousImports === 'false' || language === undefined) {
    return { parsed: true, blockedImports: [], findings: [], blocked: false, message: '' };
  }
  const gate = await import('../gate/inspect.ts');
  const inspection = await gate.inspectImports(code, language.name, blockedImports);
  // Too long to look at is not the same as nothing found; only a language without a check is let through.
  const found =
    inspection.blockedImports.length > 0 ||
    (inspection.notChecked !== undefined && language.name !== 'shell');
  return {
    ...inspection,
    blocked: blockDangerousImports === 'true' && found,
    message: gate.blockedMessage(inspection),
  };
}

/** What whoever wrote the code is told. */
export function blockedMessage({ message, notChecked }: Checked): string {
  return message || `The code was not run. ${notChecked}`;
}
