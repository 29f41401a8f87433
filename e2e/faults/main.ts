import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { shutdownSignal } from '@plainpath/http'
import { FAULTS } from './catalogue.ts'
import { checkAcknowledged } from './check-acknowledged.ts'
import { faultDocument, faultTable } from './fault-table.ts'
import { startFaultyStack } from './faulty-stack.ts'
import { prepareLedger } from './prepare-ledger.ts'
import { type FaultResult, RATE, runFault } from './run-fault.ts'

const HELP = `npm run faults -- [options]
Puts every fault on the whole topology under ${RATE} requests a second and prints what came of it.
  --seconds <number>  how long each lasts (10)
  --only <text>       only faults with this in their name
  --folder <path>     where logs and data stay
  --write <path>      writes the table there, as Markdown`

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
    folder: { type: 'string' },
    write: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const say = (text: string) => process.stdout.write(`${text}\n`)

/** @returns false when something was wrong or lost */
async function main(seconds: number): Promise<boolean> {
  const signal = shutdownSignal().then(() => 'stop' as const)
  await using system = await startFaultyStack({ limitsFactor: 1_000, folder: options.folder })
  const ledger = await prepareLedger(system.stack.origin)
  const results: FaultResult[] = []
  for (const fault of FAULTS.filter(({ name }) => name.includes(options.only))) {
    const result = await runFault(system, ledger, fault, seconds * RATE)
    results.push(result)
    say(`${result.fault}: ${result.wrong.length} wrong, ${result.lost.length} lost`)
    for (const [name, count] of result.outcomes) say(`    ${name}: ${count}`)
    if ((await Promise.race([signal, Promise.resolve()])) === 'stop') return false
  }
  const lost = await checkAcknowledged(system.stack.origin, ledger)
  say(`\n${faultTable(results)}\n`)
  for (const line of lost) say(`in the end: ${line}`)
  if (options.write) await writeFile(options.write, faultDocument(results, seconds))
  return lost.length === 0 && results.every((result) => result.wrong.length + result.lost.length === 0)
}

if (options.help) say(HELP)
else if (!(await main(Number(options.seconds)))) process.exitCode = 1
