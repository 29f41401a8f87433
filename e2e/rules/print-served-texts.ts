import process from 'node:process'
import { RULES } from '@plainpath/domain/rules'

// The rules must change before other modules are loaded, which read their figures from the rules.
Object.assign(RULES, JSON.parse(process.argv[2] ?? '{}'))
const { servedTexts } = await import('./served-texts.ts')
process.stdout.write(JSON.stringify(servedTexts()))
