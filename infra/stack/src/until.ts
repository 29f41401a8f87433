import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 50

/** @returns false when it is not so within `ms` */
export async function until(isSo: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  for (const deadline = performance.now() + ms; performance.now() < deadline; await sleep(POLL_MS)) {
    if (await isSo()) return true
  }
  return false
}
