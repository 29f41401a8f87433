import type { ChatHost, ChatHosts } from '../app-clients/chat-hosts.ts'
import { loadConfig } from '../config.ts'
import { defineCommand } from './define-command.ts'

export const hostsCommands = [
  defineCommand({
    name: 'hosts list',
    summary:
      'list the chat apps and IDEs that people may connect from, with the addresses that a sign-in may return to',
    settings: 'all',
    async run({ env }) {
      const { chatHosts } = loadConfig(env)
      return { json: toHostsJson(chatHosts), text: chatHosts.map(formatHost).join('\n\n') }
    },
  }),
]

const toHostsJson = (hosts: ChatHosts) => ({
  ok: true,
  hosts: hosts.map(({ label, name, redirectUris, redirectUriPrefixes, source, checked, documents }) => ({
    label,
    name,
    redirect_uris: redirectUris,
    redirect_uri_prefixes: redirectUriPrefixes,
    source,
    checked,
    documents: documents.map(({ copied, metadata }) => ({ client_id: metadata.client_id, copied })),
  })),
})

const formatHost = ({
  label,
  name,
  redirectUris,
  redirectUriPrefixes,
  source,
  checked,
  documents,
}: ChatHost) =>
  [
    `${label}  ${name}`,
    ...redirectUris.map((uri) => `  returns to ${uri}`),
    ...redirectUriPrefixes.map((prefix) => `  returns to ${prefix} followed by one path segment`),
    ...(redirectUris.length + redirectUriPrefixes.length === 0
      ? ["  returns to a program on the person's computer"]
      : []),
    ...documents.map(({ copied, metadata }) => `  client_id ${metadata.client_id}, copied ${copied}`),
    `  checked ${checked}: ${source}`,
  ].join('\n')
