import { argument, Refusal } from '@plainpath/commands'
import { ContactId } from '@plainpath/domain'
import { DOMAIN_CHECKED } from '@plainpath/pages'
import type { OpenedMessage } from '../contact/contact-message.ts'
import { eraseMessage, type ListedMessage, listMessages, showMessage } from '../contact/manage-messages.ts'
import { createErasureLog } from '../erasure-log.ts'
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
      return { json: describeProven(message), text: describeOpened(message) }
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
      createErasureLog(log, operator)('message', id)
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

/** A message with what its writer has proven, as other commands and the API name it. */
const describeProven = ({ agentDomain, ...message }: OpenedMessage) => ({
  ...message,
  ...(agentDomain !== null && { verified_domain: agentDomain }),
  email_verified: isVerified(message),
})

/** An agent can write only for a person who verified their e-mail; a person confirms it by the link in a mail. */
const isVerified = ({ state }: Pick<OpenedMessage, 'state'>) => state !== 'unconfirmed'

function writerText({ writtenBy, agentDomain, state }: OpenedMessage): string {
  const agent =
    agentDomain === null ? 'an AI agent or app' : `an AI agent at ${agentDomain} ${DOMAIN_CHECKED}`
  const writer = writtenBy === 'agent' ? agent : 'a person on the website'
  return `${writer}; e-mail ${isVerified({ state }) ? 'verified' : 'not verified'}`
}

/** Formats a message, with the lines of the person marked. They contain no control characters, so they cannot move the cursor. */
const describeOpened = (message: OpenedMessage) =>
  [
    `Message ${message.id}, ${message.topic}, ${message.state}`,
    `Written by ${writerText(message)}`,
    ...(message.triggers.length > 0 ? [`Needs a lawyer: ${message.triggers.join(', ')}`] : []),
    `Answer to ${message.replyTo}`,
    message.text.replaceAll(/^/gm, '| '),
  ].join('\n')
