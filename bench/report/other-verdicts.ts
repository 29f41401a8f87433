import { spreadOf } from '../load/quantiles.ts'
import type { Memory } from '../memory.ts'
import type { Revocations } from '../revocation.ts'
import { spreadText, type Verdict } from './judge.ts'

const MOST_REVOCATION_MS = 20
const MEGABYTE = 1024 ** 2
const MOST_MEMORY = { idle: 120, underLoad: 250 }

export function revocationVerdict(rounds: readonly Revocations[], fromMemory: boolean): Verdict {
  const fault = rounds.find((round) => round.fault)?.fault
  const p99 = spreadOf(rounds.map(({ arrivals }) => arrivals.latency.p99))
  return {
    path: 'revocation answered, two API instances with warm caches, 50 a second',
    against: 'p99',
    target: `under ${MOST_REVOCATION_MS} ms`,
    measured: fault
      ? `no figure: ${fault.what}`
      : `${spreadText(p99, 1)} ms${fromMemory ? '' : ', without caches'}`,
    held: !fault && fromMemory && p99.median < MOST_REVOCATION_MS,
  }
}

export const memoryVerdicts = (apps: Readonly<Record<string, Memory>>): Verdict[] =>
  Object.entries(apps).map(([app, { idle, underLoad }]) => ({
    path: `memory of \`apps/${app}\``,
    against: 'idle / under load',
    target: `under ${MOST_MEMORY.idle} / ${MOST_MEMORY.underLoad} MB`,
    measured: `${megabytes(idle)} / ${megabytes(underLoad)} MB`,
    held: idle < MOST_MEMORY.idle * MEGABYTE && underLoad < MOST_MEMORY.underLoad * MEGABYTE,
  }))

const megabytes = (bytes: number) => Math.round(bytes / MEGABYTE)
