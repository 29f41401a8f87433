import process from 'node:process'
import { RULES } from '@plainpath/domain/rules'

// The rules are changed before other modules are loaded, because those read their figures from the rules.
Object.assign(RULES, JSON.parse(process.argv[2] ?? '{}'))
const { renderServedTexts } = await import('./served-texts.ts')
process.stdout.write(JSON.stringify(renderServedTexts()))
