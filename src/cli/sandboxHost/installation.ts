import type { RegistryName } from '../../languages/installers/installer.ts';
import type { LiveSandbox } from '../../operations/liveSandbox.ts';
import { installResultToJson } from '../../result/installResultJson.ts';
import { errorJson } from './errorJson.ts';
import { eventStream } from './eventStream.ts';
import type { InstallRequest } from './protocol.ts';

/** Installs one package; what comes of it is told as it comes. It is cancelled when nobody listens any more. */
export function startInstallation(sandbox: LiveSandbox, request: InstallRequest): Response {
  return eventStream(async (tell, signal) => {
    try {
      const result = await sandbox.installPackage(request.package, {
        signal,
        // Any other is refused where options are checked.
        ...(request.registry === undefined ? {} : { registry: request.registry as RegistryName }),
        ...(request.timeout === undefined ? {} : { timeout: request.timeout }),
        ...(request.allow_scripts === undefined ? {} : { allowScripts: request.allow_scripts }),
        ...(request.stream
          ? {
              onOutput: ({ stream, bytes }) =>
                tell({ type: 'output', stream, data: Buffer.from(bytes).toString('base64') }),
            }
          : {}),
      });
      await tell({ type: 'result', result: installResultToJson(result), warnings: result.warnings ?? [] });
    } catch (error) {
      await tell({ type: 'error', error: errorJson(error) });
    }
  });
}
