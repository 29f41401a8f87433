import { readLog } from '@plainpath/http'
import { Command } from 'commander'
import type { Environment } from '../config.ts'
import { erasuresInLog, replayErasures } from '../erasure-log.ts'
import { type CommandIo, Refusal } from './command-io.ts'
import { actorName, type ForPrograms, openCommandPool } from './desk-command.ts'

/** `resource replay`: after a restore, what people had erased since the backup is erased again. */
export const replayCommand = (env: Environment, io: CommandIo, now: () => Date): Command =>
  new Command('replay')
    .description(
      'after a restore: erase again every entry and message that the log says was erased; it is audited',
    )
    .requiredOption(
      '--log <path>',
      'what the API and its commands logged since the backup; - reads it from a pipe',
    )
    .option('--dry-run', 'say what the log tells of, and change nothing')
    .option('--json', 'for programs')
    .action(async (options: ForPrograms & { log: string; dryRun?: boolean }) => {
      const erasures = await erasuresInLog(readLog(options.log)).catch((error: unknown) => {
        const { code, syscall } = error as NodeJS.ErrnoException
        throw code && syscall ? new Refusal(`${options.log} cannot be read (${code}).`) : error
      })
      const told = { entries: erasures.entries.size, messages: erasures.messages.size }
      const count = ({ entries, messages }: typeof told) =>
        `${entries} entries of the waitlist and ${messages} messages`
      if (options.dryRun) {
        const said = `The log tells that ${count(told)} were erased.`
        return io.print(options.json ? JSON.stringify({ ok: true, done: false, told }) : said)
      }
      await using db = openCommandPool(env)
      const erased = await replayErasures(db, erasures, { actor: actorName(), now: now() })
      const said = `Erased again: ${count(erased)}, of ${count(told)} that the log tells of.`
      io.print(options.json ? JSON.stringify({ ok: true, done: true, told, erased }) : said)
    })
