import { ContactId } from '@plainpath/domain'
import { Command } from 'commander'
import { type Environment, loadDeskKeys } from '../config.ts'
import { eraseMessage, type ListedMessage, listMessages, showMessage } from '../contact/contact-desk.ts'
import type { OpenedMessage } from '../contact/contact-message.ts'
import type { TellErased } from '../erasure-log.ts'
import { type CommandIo, Refusal } from './command-io.ts'
import { actorName, type ForPrograms, listLimit, openCommandPool } from './desk-command.ts'

export function contactCommand(
  env: Environment,
  io: CommandIo,
  { now, tellErased }: { now: () => Date; tellErased: TellErased },
): Command {
  const contact = new Command('contact').description('messages to the people behind Plainpath')
  const add = (usage: string, description: string) =>
    contact.command(usage).description(description).option('--json', 'for programs')
  const print = (options: ForPrograms, value: object, lines: string) =>
    io.print(options.json ? JSON.stringify(value) : lines)

  add('list', 'the newest messages, without texts and addresses')
    .option('--limit <number>', 'how many', listLimit, 100)
    .action(async (options: ForPrograms & { limit: number }) => {
      await using db = openCommandPool(env)
      const messages = await listMessages(db, options.limit)
      print(options, { messages }, messages.map(describeListed).join('\n') || 'There are no messages.')
    })
  add('show', 'print a message and the address to answer; it is audited')
    .argument('<id>')
    .action(async (id: string, options: ForPrograms) => {
      const { sealingKeys } = loadDeskKeys(env)
      await using db = openCommandPool(env)
      const asked = { sealingKeys, id: knownForm(id), actor: actorName(), now: now() }
      const message = await showMessage(db, asked)
      if (!message) throw new Refusal('No message with this id is kept.')
      print(options, message, describeOpened(message))
    })
  add('erase', 'erase the text and address of a message; it is audited')
    .argument('<id>')
    .action(async (id: string, options: ForPrograms) => {
      await using db = openCommandPool(env)
      const erased = await eraseMessage(db, { id: knownForm(id), actor: actorName(), now: now() })
      if (!erased) throw new Refusal('No message with this id is kept.')
      tellErased('message', id)
      print(options, { id, status: 'erased' }, `${id} is erased.`)
    })
  return contact
}

function knownForm(id: string): string {
  if (!ContactId.safeParse(id).success) throw new Refusal('This is not the id of a message.')
  return id
}

const describeListed = ({ id, topic, state, createdAt }: ListedMessage) =>
  `${id}  ${createdAt.toISOString()}  ${topic}, ${state}`

/** What the person wrote cannot move the cursor: it has no control characters. Marked lines are theirs. */
const describeOpened = (message: OpenedMessage) =>
  [
    `Message ${message.id}, ${message.topic}, ${message.state}`,
    `Answer to ${message.replyTo}`,
    message.text.replaceAll(/^/gm, '| '),
  ].join('\n')
