import { SealError } from '@plainpath/sealing'
import { Command } from 'commander'
import { type Environment, loadDeskKeys } from '../config.ts'
import { rewrapSealed } from '../rewrap-sealed.ts'
import { type CommandIo, UNREADABLE } from './command-io.ts'
import { type ForPrograms, openCommandPool } from './desk-command.ts'

/** `resource rewrap`: what is there moves to the newest line of RESOURCE_KEK_FILE. */
export const rewrapCommand = (env: Environment, io: CommandIo): Command =>
  new Command('rewrap')
    .description('seal every address and message under the newest key-encryption key')
    .option('--dry-run', 'say what would be done, and change nothing')
    .option('--json', 'for programs')
    .action(async (options: ForPrograms & { dryRun?: boolean }) => {
      const { sealingKeys } = loadDeskKeys(env)
      const trial = options.dryRun ?? false
      await using db = openCommandPool(env)
      const { addresses, messages } = await rewrapSealed(db, sealingKeys, { trial }).catch(
        (error: unknown) => {
          if (options.json && error instanceof SealError)
            io.print(JSON.stringify({ ok: false, reason: UNREADABLE }))
          throw error
        },
      )
      const done = !trial && addresses + messages > 0
      io.print(
        options.json
          ? JSON.stringify({ ok: true, done, addresses, messages })
          : `${trial ? 'Would seal anew' : 'Sealed anew'}: ${addresses} addresses of the waitlist and ${messages} values of messages.`,
      )
    })
