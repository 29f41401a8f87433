import type { ChatHost, ChatHosts } from '../app-clients/chat-hosts.ts'
import { loadConfig } from '../config.ts'
import { defineCommand } from './define-command.ts'

export const hostsCommands = [
  defineCommand({
    name: 'hosts list',
    summary: 'list the chat apps and IDEs from which people can connect, with their redirect URIs',
    settings: 'all',
    async run({ env }) {
      const { chatHosts } = loadConfig(env)
      return { json: toChatHostsJson(chatHosts), text: chatHosts.map(formatChatHost).join('\n\n') }
    },
  }),
]

const toChatHostsJson = (hosts: ChatHosts) => ({
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

const formatChatHost = ({
  label,
  name,
  redirectUris,
  redirectUriPrefixes,
  source,
  checked: checkedOn,
  documents,
}: ChatHost) =>
  [
    `${label}  ${name}`,
    ...redirectUris.map((uri) => `  redirect URI ${uri}`),
    ...redirectUriPrefixes.map((prefix) => `  redirect URI ${prefix} followed by one path segment`),
    ...(redirectUris.length + redirectUriPrefixes.length === 0 ? ['  redirect URI on loopback only'] : []),
    ...documents.map(
      ({ copied: copiedOn, metadata }) =>
        `  client metadata document ${metadata.client_id}, copied on ${copiedOn}`,
    ),
    `  checked on ${checkedOn}: ${source}`,
  ].join('\n')
