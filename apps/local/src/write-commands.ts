import { writeFileSync } from 'node:fs'
import { AUTH_COMMANDS } from '@plainpath/auth/cli'
import { commandsPage } from '@plainpath/commands'
import { RESOURCE_COMMANDS } from '@plainpath/resource/cli'

const page = new URL('../../../docs/commands.md', import.meta.url)
writeFileSync(page, commandsPage([AUTH_COMMANDS, RESOURCE_COMMANDS]))
