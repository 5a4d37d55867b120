import type { BackgroundJob } from './backgroundProcess.ts';
import { checkCommand } from './checkOptions.ts';
import type { Job } from './job.ts';
import { checkCode } from './options.ts';

/** What to run, from what a program gave. Throws `INPUT_INVALID`. */
export function jobOf(job: BackgroundJob): Job {
  if (isCode(job)) {
    checkCode(job.code);
    return { code: job.code };
  }
  checkCommand(job);
  return { command: job };
}

/** The language that comes with code; a command has none. */
export function languageOf(job: BackgroundJob): { readonly language?: string } {
  return isCode(job) && job.language !== undefined ? { language: job.language } : {};
}

function isCode(job: BackgroundJob): job is Extract<BackgroundJob, { readonly code: unknown }> {
  return typeof job === 'object' && job !== null && 'code' in job;
}
