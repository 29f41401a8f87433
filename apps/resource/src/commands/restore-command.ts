import { DRY_RUN, option, refuseFileError } from '@plainpath/commands'
import { readLog } from '@plainpath/http'
import { erasuresInLog, replayErasures } from '../erasure-log.ts'
import { rewrapSealed } from '../rewrap-sealed.ts'
import { defineCommand } from './define-command.ts'

export const restoreCommands = [
  defineCommand({
    name: 'rewrap',
    summary: 'seal every address and message under the newest key-encryption key',
    parameters: { dryRun: DRY_RUN },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args: { dryRun } }) {
      const { addresses, messages } = await rewrapSealed(db, settings.RESOURCE_KEK_FILE, { trial: dryRun })
      return {
        json: { ok: true, done: !dryRun && addresses + messages > 0, addresses, messages },
        text: `${dryRun ? 'Would seal anew' : 'Sealed anew'}: ${addresses} addresses of the waitlist and ${messages} values of messages.`,
      }
    },
  }),
  defineCommand({
    name: 'replay',
    summary:
      'after a restore: erase again every entry and message that the log says was erased; it is audited',
    parameters: {
      log: option(
        '--log <path>',
        'what the API and its commands logged since the backup; - reads it from a pipe',
        { required: true },
      ),
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run({ db, args, operator, now }) {
      const erasures = await erasuresInLog(readLog(args.log)).catch(
        refuseFileError((code) => `${args.log} cannot be read (${code}).`),
      )
      const told = { entries: erasures.entries.size, messages: erasures.messages.size }
      if (args.dryRun)
        return {
          json: { ok: true, done: false, told },
          text: `The log tells that ${count(told)} were erased.`,
        }
      const erased = await replayErasures(db, erasures, { actor: operator.user, now: now() })
      return {
        json: { ok: true, done: true, told, erased },
        text: `Erased again: ${count(erased)}, of ${count(told)} that the log tells of.`,
      }
    },
  }),
]

const count = ({ entries, messages }: { entries: number; messages: number }) =>
  `${entries} entries of the waitlist and ${messages} messages`
