import { Command } from 'commander'
import type { SigningKey } from './signing-key.ts'

export interface KeysCommandDeps {
  io: { print(line: string): void }
  /** Makes the first key; its kid, or undefined when one signs already. */
  init(): Promise<string | undefined>
  list(): Promise<readonly SigningKey[]>
}

/** `auth keys init | list`. */
export function keysCommand({ io, init, list }: KeysCommandDeps): Command {
  const keys = new Command('keys').description('signing keys')
  keys
    .command('init')
    .description('make the first signing key, once; does nothing when there is one')
    .action(async () => {
      const kid = await init()
      io.print(kid ? `Made the first signing key: ${kid}` : 'Nothing to do: a key signs already.')
    })
  keys
    .command('list')
    .description('every key with its state')
    .option('--json', 'for programs')
    .action(async (options: { json?: boolean }) => {
      const rows = (await list()).map(({ kid, algorithm, state, stateSince }) => ({
        kid,
        algorithm,
        state,
        since: stateSince.toISOString(),
      }))
      if (options.json) return io.print(JSON.stringify(rows))
      if (rows.length === 0) return io.print('There is no key yet. Make the first with: keys init')
      for (const row of rows)
        io.print(`${row.kid}  ${row.algorithm}  ${row.state.padEnd(9)}  since ${row.since}`)
    })
  return keys
}
