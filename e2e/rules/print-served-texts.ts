import process from 'node:process'
import { RULES } from '@plainpath/domain/rules'

// Changes the rules before it loads the modules with the texts, because those read the rules when they are loaded.
Object.assign(RULES, JSON.parse(process.argv[2] ?? '{}'))
const { renderServedTexts } = await import('./served-texts.ts')
process.stdout.write(JSON.stringify(renderServedTexts()))
