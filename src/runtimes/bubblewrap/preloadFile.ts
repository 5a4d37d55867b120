/**
 * The empty file that is shown in place of what `/proc` tells of others. While an interpreter starts it holds what that
 * loads first: so every path inside is what it is in any other sandbox, before the program begins and after.
 */
import { chmodSync, truncateSync, writeFileSync } from 'node:fs';
import type { Folder } from '../host/folder.ts';
import type { HostView } from '../host/hostView.ts';
import { NOTHING } from './arguments.ts';

/** Where a program sees it; undefined where there is nothing to hide. */
export function preloadPlace({ hiddenProc }: HostView): string | undefined {
  return hiddenProc[0];
}

/** Writes it in the folder of a sandbox's file system. Not writable inside in any case: it is bound for reading only. */
export function fillPreloadFile(folder: Folder, text: string): void {
  const path = folder.entry(NOTHING);
  chmodSync(path, 0o644);
  if (text === '') truncateSync(path);
  else writeFileSync(path, text);
  chmodSync(path, 0o444);
}
