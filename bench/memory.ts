import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from './load/processor-time.ts'
import type { App } from './testbed/start-apps.ts'

/** Bytes of resident memory: at rest, and at most under load. */
export interface Memory {
  readonly idle: number
  readonly underLoad: number
}

export interface MemoryWatch {
  /** The peak since it was begun. */
  read(): Memory
}

/** What an app needs to come to rest after its start. */
const SETTLE_MS = 3_000

/** Call it before the load, when the app has not answered anything. */
export async function watchMemory(app: Pick<App, 'pid'>): Promise<MemoryWatch> {
  await sleep(SETTLE_MS)
  const idle = memoryOf(app.pid).now
  // Forgets the peak of the start (proc(5): clear_refs).
  writeFileSync(`/proc/${app.pid}/clear_refs`, '5')
  return { read: () => ({ idle, underLoad: memoryOf(app.pid).peak }) }
}
