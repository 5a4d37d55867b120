import { SandboxError } from '../../errors.ts';

/** Loads a package that not everybody needs; `install` is what to install for it. Throws `CONFIG_INVALID`, with the command that installs it, where it is missing. */
export async function optionalPackage<Module>(
  name: string,
  purpose: string,
  load: () => Promise<Module>,
  install: string = name,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
    if (!isMissing || !message.includes(name)) throw error;
    throw new SandboxError(
      'CONFIG_INVALID',
      `The package ${name} is not installed, which is needed ${purpose}.`,
      {
        hint: `Run: npm install ${install}`,
        details: { package: name },
        cause: error,
      },
    );
  }
}
