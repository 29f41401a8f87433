import { argument, Refusal } from '@plainpath/commands'
import { ContactId } from '@plainpath/domain'
import { eraseMessage, type ListedMessage, listMessages, showMessage } from '../contact/contact-desk.ts'
import type { OpenedMessage } from '../contact/contact-message.ts'
import { erasureTeller } from '../erasure-log.ts'
import { defineCommand, limit } from './define-command.ts'

const messageId = argument('<id>', 'of a message', (text) => {
  if (!ContactId.safeParse(text).success) throw new Refusal('This is not the id of a message.')
  return text
})

export const contactCommands = [
  defineCommand({
    name: 'contact list',
    summary:
      'the newest messages, urgent ones first, without texts and addresses; opening triggers is audited',
    parameters: { limit },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args, operator, now }) {
      const messages = await listMessages(db, {
        sealingKeys: settings.RESOURCE_KEK_FILE,
        limit: args.limit,
        actor: operator.user,
        now: now(),
      })
      return { json: { messages }, text: messages.map(describeListed).join('\n') || 'There are no messages.' }
    },
  }),
  defineCommand({
    name: 'contact show',
    summary: 'print a message and the address to answer; it is audited',
    parameters: { id: messageId },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args, operator, now }) {
      const message = await showMessage(db, {
        sealingKeys: settings.RESOURCE_KEK_FILE,
        id: args.id,
        actor: operator.user,
        now: now(),
      })
      if (!message) throw new Refusal('No message with this id is kept.')
      return { json: message, text: describeOpened(message) }
    },
  }),
  defineCommand({
    name: 'contact erase',
    summary: 'erase the text and address of a message; it is audited',
    parameters: { id: messageId },
    opens: 'database',
    async run({ db, args: { id }, operator, now, log }) {
      if (!(await eraseMessage(db, { id, actor: operator.user, now: now() })))
        throw new Refusal('No message with this id is kept.')
      erasureTeller(log, operator)('message', id)
      return { json: { id, status: 'erased' }, text: `${id} is erased.` }
    },
  }),
]

const describeListed = ({ id, topic, state, createdAt, ageMinutes, urgency, triggers }: ListedMessage) =>
  [
    id,
    createdAt.toISOString(),
    describeAge(ageMinutes),
    `${topic}, ${state}`,
    ...(urgency === null ? [] : [`${urgency}: ${triggers.join(', ')}`]),
  ].join('  ')

function describeAge(minutes: number): string {
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} d`
}

/** What the person wrote cannot move the cursor: it has no control characters. Marked lines are theirs. */
const describeOpened = (message: OpenedMessage) =>
  [
    `Message ${message.id}, ${message.topic}, ${message.state}`,
    ...(message.triggers.length > 0 ? [`Needs a lawyer: ${message.triggers.join(', ')}`] : []),
    `Answer to ${message.replyTo}`,
    message.text.replaceAll(/^/gm, '| '),
  ].join('\n')
