import { writeFileSync } from 'node:fs'
import { AUTH_COMMANDS } from '@plainpath/auth/cli'
import { formatCommandsPage } from '@plainpath/commands'
import { RESOURCE_COMMANDS } from '@plainpath/resource/cli'

const page = new URL('../../../docs/commands.md', import.meta.url)
writeFileSync(page, formatCommandsPage([AUTH_COMMANDS, RESOURCE_COMMANDS]))
