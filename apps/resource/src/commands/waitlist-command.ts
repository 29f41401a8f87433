import { createReadStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { canonicalEmail } from '@plainpath/domain'
import { Command } from 'commander'
import { type Environment, loadDeskKeys } from '../config.ts'
import type { TellErased } from '../erasure-log.ts'
import {
  exportEntries,
  forgetEntry,
  type ListedEntry,
  listEntries,
  waitlistStatistics,
} from '../waitlist/waitlist-desk.ts'
import { type CommandIo, Refusal } from './command-io.ts'
import { actorName, type ForPrograms, listLimit, openCommandPool } from './desk-command.ts'

/** Past what any address has, so what is longer is none. */
const MOST_ADDRESS_LENGTH = 1_000

export function waitlistCommand(
  env: Environment,
  io: CommandIo,
  { now, tellErased }: { now: () => Date; tellErased: TellErased },
): Command {
  const waitlist = new Command('waitlist').description('the waitlist')
  const add = (usage: string, description: string) =>
    waitlist.command(usage).description(description).option('--json', 'for programs')
  const print = (options: ForPrograms, value: object, lines: string) =>
    io.print(options.json ? JSON.stringify(value) : lines)

  add('stats', 'how many people joined, confirmed, and came through a referral').action(
    async (options: ForPrograms) => {
      await using db = openCommandPool(env)
      const statistics = await waitlistStatistics(db)
      const { entries, confirmed, referred, credited } = statistics
      const words = `${entries} entries, ${confirmed} of them confirmed; ${referred} referred, ${credited} of those confirmed.`
      print(options, statistics, words)
    },
  )
  add('list', 'the newest entries, without addresses')
    .option('--limit <number>', 'how many', listLimit, 100)
    .action(async (options: ForPrograms & { limit: number }) => {
      await using db = openCommandPool(env)
      const entries = await listEntries(db, options.limit)
      print(options, { entries }, entries.map(describeEntry).join('\n') || 'Nobody is on the waitlist.')
    })
  add('export', 'write every entry with its address to a new file that only you can read; it is audited')
    .requiredOption('--file <path>', 'one JSON object a line')
    .action(async (options: ForPrograms & { file: string }) => {
      const { sealingKeys } = loadDeskKeys(env)
      await using db = openCommandPool(env)
      await using file = await newFile(options.file)
      await using unfinished = new AsyncDisposableStack()
      unfinished.defer(() => rm(options.file))
      let entries = 0
      for await (const entry of exportEntries(db, { sealingKeys, actor: actorName(), now: now() })) {
        await file.write(`${JSON.stringify(entry)}\n`)
        entries += 1
      }
      unfinished.move()
      print(options, { entries, file: options.file }, `${entries} entries are in ${options.file}.`)
    })
  add('forget', 'take an address off the waitlist; it is audited')
    .requiredOption(
      '--address-file <path>',
      'what holds the address and nothing else; - reads it from a pipe, so that it is in no list of processes or commands',
    )
    .action(async (options: ForPrograms & { addressFile: string }) => {
      const { hashKey } = loadDeskKeys(env)
      const canonical = canonicalEmail(await readAddress(options.addressFile))
      if (canonical === undefined) throw new Refusal('This is no e-mail address.')
      await using db = openCommandPool(env)
      const asked = { hashKey, canonicalEmail: canonical, actor: actorName(), now: now() }
      const id = await forgetEntry(db, asked)
      if (id === undefined) throw new Refusal('The address is not on the waitlist.')
      tellErased('entry', id)
      print(options, { forgotten: true }, 'The address is off the waitlist.')
    })
  return waitlist
}

/** @param path or `-` for standard input; never repeated, since it may be the address by mistake */
async function readAddress(path: string): Promise<string> {
  let read = ''
  try {
    const file = path === '-' ? process.stdin : createReadStream(path)
    for await (const chunk of file.setEncoding('utf8')) {
      read += chunk
      if (read.length > MOST_ADDRESS_LENGTH) break
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Refusal(`The file of --address-file cannot be read (${code ?? 'unknown reason'}).`)
  }
  return read.trim()
}

async function newFile(path: string) {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Refusal(
      `${path} cannot be made (${code ?? 'unknown reason'}). Name a file that is not there yet.`,
    )
  }
}

const describeEntry = ({ id, joinedAt, confirmedAt, referred }: ListedEntry) =>
  `${id}  joined ${joinedAt.toISOString()}, ${confirmedAt ? 'confirmed' : 'not confirmed'}${referred ? ', referred' : ''}`
