import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { shutdownSignal } from '@plainpath/http'
import { thisCommit } from '../this-commit.ts'
import { FAULTS } from './catalogue.ts'
import { checkAcknowledged } from './check-acknowledged.ts'
import type { FaultCase } from './fault-case.ts'
import { faultDocument, faultTable } from './fault-table.ts'
import { startFaultyStack } from './faulty-stack.ts'
import { prepareLedger } from './prepare-ledger.ts'
import { seedRandom } from './random.ts'
import { type FaultResult, type Phases, RATE, runFault, SHORT } from './run-fault.ts'

const HELP = `npm run faults -- [names] [options]
Puts every fault on the whole topology under ${RATE} requests a second and prints what came of it. A name is a number such
as F-13, or a part of what the table calls a fault; without any, all are run and e2e/faults/RESULTS.md is written. Some
need root.
  --seconds <number>  how long each lasts (4)
  --full              30 s before, 60 s of the fault, 60 s after
  --seed <number>     chooses the requests (the time of day)
  --folder <path>     where logs and data stay
  --list              says what there is`

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '4' },
    full: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    folder: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const say = (text: string) => process.stdout.write(`${text}\n`)
const RESULTS = fileURLToPath(new URL('RESULTS.md', import.meta.url))

const phases: Phases = options.full
  ? { steady: 30 * RATE, held: 60 * RATE, recovery: 60 * RATE }
  : { ...SHORT, held: Number(options.seconds) * RATE }

const isChosen = ({ name, numbers }: FaultCase) =>
  names.length === 0 || names.some((each) => name.includes(each) || numbers.some((number) => number === each))

/** @returns false when something was wrong or lost */
async function main(): Promise<boolean> {
  const signal = shutdownSignal().then(() => 'stop' as const)
  const commit = await thisCommit()
  seedRandom(Number(options.seed))
  say(`Commit ${commit}, seed ${options.seed}`)
  await using system = await startFaultyStack({ limitsFactor: 1_000, folder: options.folder })
  const ledger = await prepareLedger(system.stack.origin)
  const results: FaultResult[] = []
  const startedAt = performance.now()
  for (const fault of FAULTS.filter(isChosen)) {
    const result = await runFault(system, ledger, fault, phases).catch((error: unknown) =>
      notRun(fault, error),
    )
    results.push(result)
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    say(
      `${seconds} s  ${fault.numbers.join(' ')} ${fault.name}: ${result.wrong.length} wrong, ${result.lost.length} lost`,
    )
    for (const line of [...result.wrong, ...result.lost]) say(`    ${line}`)
    if ((await Promise.race([signal, Promise.resolve()])) === 'stop') return false
  }
  const lost = await checkAcknowledged(system.stack.origin, ledger)
  say(`\n${faultTable(results)}\n`)
  for (const line of lost) say(`in the end: ${line}`)
  if (names.length === 0) await writeFile(RESULTS, faultDocument(results, { commit, phases }))
  return lost.length === 0 && results.every((result) => result.wrong.length + result.lost.length === 0)
}

/** The others may still tell something. */
function notRun({ name, numbers }: FaultCase, error: unknown): FaultResult {
  const wrong = [`the scenario failed: ${error instanceof Error ? error.message : String(error)}`]
  const counts = { requests: 0, good: 0, refused: 0, excused: 0, outcomes: new Map<string, number>() }
  const times = { firstGoodSeconds: undefined, slowestSeconds: 0, shedSeconds: undefined }
  return { fault: name, numbers, wrong, lost: [], ...counts, ...times }
}

if (options.help) say(HELP)
else if (options.list) for (const { numbers, name } of FAULTS) say(`${numbers.join(' ')}  ${name}`)
else if (!(await main())) process.exitCode = 1
