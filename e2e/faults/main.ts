import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { waitForShutdownSignal } from '@plainpath/http'
import { readCurrentCommit } from '../read-current-commit.ts'
import { FAULTS } from './catalogue.ts'
import { checkAcknowledged } from './check-acknowledged.ts'
import { FAULT_NUMBERS, type FaultNumber } from './fault-numbers.ts'
import { formatFaultTable, formatTestTable, renderResults } from './fault-table.ts'
import { startFaultyStack } from './faulty-stack.ts'
import { prepareLedger } from './prepare-ledger.ts'
import { seedRandom } from './random.ts'
import { createFailedResult, type FaultResult, runFault, SHORT_PHASES, type Traffic } from './run-fault.ts'
import { listNumbersWithoutScenario, runFaultTests, type TestResult } from './run-fault-tests.ts'

/** The number of requests per second. */
const RATE = 100

const HELP = `npm run faults -- [names] [options]
Injects faults into the whole topology under ${RATE} requests a second and prints the results. Faults that do not concern a
running stack, such as a migration that is killed, have tests, which it also runs. A name is a number from F-01 to F-39, or
a part of a name that --list prints. Without names it runs all faults and writes e2e/faults/RESULTS.md. Some faults need
root.
  --seconds <number>  duration of each fault (default 4)
  --full              30 s before, 60 s of the fault, 60 s after
  --seed <number>     seed that determines the requests (default: from the current time)
  --folder <path>     folder for logs and data, which is kept afterwards
  --list              lists the faults`

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
const print = (text: string) => process.stdout.write(`${text}\n`)
const RESULTS_FILE = fileURLToPath(new URL('RESULTS.md', import.meta.url))

const traffic: Traffic = options.full
  ? { rate: RATE, steady: 30, held: 60, recovery: 60 }
  : { rate: RATE, ...SHORT_PHASES, held: Number(options.seconds) }

const isSelected = (faultName: string, numbers: readonly FaultNumber[]) =>
  names.length === 0 ||
  names.some((each) => faultName.includes(each) || numbers.some((number) => number === each))
const scenarios = FAULTS.filter(({ name, numbers }) => isSelected(name, numbers))
const testedNumbers = listNumbersWithoutScenario(FAULTS).filter((number) =>
  isSelected(FAULT_NUMBERS[number].fault, [number]),
)

const startedAt = performance.now()
const report = (text: string) => print(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${text}`)
const shutdownSignal = waitForShutdownSignal().then(() => 'stop' as const)
/** Returns whether a signal has already arrived. `shutdownSignal` is first in the race, so it wins if it is resolved. */
const isStopped = async () => (await Promise.race([shutdownSignal, Promise.resolve()])) === 'stop'

/**
 * Runs the selected scenarios and tests. Returns false if anything was wrong or lost, if a test did not pass, or if a
 * signal stopped the run.
 */
async function main(): Promise<boolean> {
  const commit = await readCurrentCommit()
  seedRandom(Number(options.seed))
  print(`Commit ${commit}, seed ${options.seed}`)
  const { results, lost } = scenarios.length > 0 ? await runScenarios() : { results: [], lost: [] }
  const tests = await runTests()
  if (await isStopped()) return false
  if (results.length > 0) print(`\n${formatFaultTable(results)}`)
  if (tests.length > 0) print(`\n${formatTestTable(tests)}`)
  for (const line of lost) print(`after all faults: ${line}`)
  if (names.length === 0)
    await writeFile(RESULTS_FILE, renderResults({ results, tests }, { commit, traffic }))
  return (
    lost.length === 0 &&
    results.every((result) => result.wrong.length + result.lost.length === 0) &&
    tests.every(({ outcome }) => outcome === 'passed')
  )
}

/**
 * Runs the selected scenarios one after another on one stack. `lost` has the lines of `checkAcknowledged` for the whole run. It
 * is empty if a signal stopped the run.
 */
async function runScenarios(): Promise<{ results: readonly FaultResult[]; lost: readonly string[] }> {
  await using system = await startFaultyStack({ limitsFactor: 1_000, folder: options.folder })
  const ledger = await prepareLedger(system.stack.origin, system)
  const results: FaultResult[] = []
  for (const fault of scenarios) {
    const result = await runFault(system, ledger, fault, traffic).catch((error: unknown) =>
      createFailedResult(fault, error),
    )
    results.push(result)
    const { wrong, lost } = result
    report(`${fault.numbers.join(' ')} ${fault.name}: ${wrong.length} wrong, ${lost.length} lost`)
    for (const line of [...wrong, ...lost]) print(`    ${line}`)
    if (await isStopped()) return { results, lost: [] }
  }
  return { results, lost: await checkAcknowledged(system.stack.origin, ledger) }
}

async function runTests(): Promise<TestResult[]> {
  const results: TestResult[] = []
  for (const number of testedNumbers) {
    if (await isStopped()) return results
    const testResults = await runFaultTests(number)
    results.push(...testResults)
    const passed = testResults.filter(({ outcome }) => outcome === 'passed').length
    report(`${number} ${FAULT_NUMBERS[number].fault}: ${passed} of ${testResults.length} tests passed`)
    for (const { title, outcome, reason } of testResults)
      if (outcome !== 'passed') print(`    ${title}: ${reason ?? outcome}`)
  }
  return results
}

function printList(): void {
  for (const { numbers, name } of scenarios) print(`${numbers.join(' ')}  ${name}`)
  for (const number of testedNumbers) print(`${number}  ${FAULT_NUMBERS[number].fault} (tests)`)
}

if (options.help) print(HELP)
else if (scenarios.length + testedNumbers.length === 0) {
  print(`There is no such fault: ${names.join(', ')}. npm run faults -- --list lists all.`)
  process.exitCode = 1
} else if (options.list) printList()
else if (!(await main())) process.exitCode = 1
