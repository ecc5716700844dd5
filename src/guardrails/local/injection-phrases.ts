/**
 * The wording of prompt injections. Each line is a rule: groups of terms separated by `>`. The groups must match in
 * this order, with at most a few words between them. One term of each group is enough. A `*` at the end of a term
 * matches any continuation.
 */
export const injectionRules = rulesOf(`
  # English
  ignor* | disregard* | forget* | overrid* | bypass* | circumvent* | neglect* | skip* | drop | discard* > previous | prior | above | earlier | preceding | foregoing | initial | original | your | system > instruction* | directive* | directions | guideline* | prompt* | rules | programming | commands | restrictions | constraints
  ignor* | disregard* | forget* | bypass* > all | any | every | these | those > instruction* | directive* | guideline* | prompt* | restrictions
  ignor* | disregard* | forget* > everything | all | anything > above | before this | you were told | you have been told | you were instructed | said before | you know
  ignor* | disregard* | forget* > instruction* | directive* | guideline* | rules | orders > you were given | you have been given | given to you | you received
  ignore the above and | disregard the above and | ignore the above instruction* | forget the above and
  ignor* | disregard* | forget* > your developer* | your creator* | your operator* | your maker* > told you | said | instructed you
  do not follow | dont follow | stop following | no longer follow | do not obey | dont obey | stop obeying | no longer obey | disobey* > previous | prior | above | earlier | your | system > instruction* | directive* | guideline* | rules | prompt*
  stop following | no longer follow | stop obeying | no longer obey > rules | instruction* | guideline* | orders > you were given | you have been given | given to you | you received
  pretend* | imagine | suppose | act as if | behave as if > your guidelines | your rules | your instructions | your restrictions > do not apply | dont apply | no longer apply | do not exist | dont exist
  reveal* | show | print | paste | repeat | output | display | disclose | leak* | dump | tell me | give me | send me | share | summar* | translate | paraphrase > your > exact instructions | full instructions | system prompt | initial prompt | hidden prompt | initial instructions | hidden instructions | system instructions | secret instructions | original instructions | system message | developer message | developer instructions
  repeat | output | reveal | print > everything above this | the words above | all the text above | all text above | the text above this
  reveal* | leak* | disclose | repeat | exfiltrate | extract > system prompt | hidden prompt | hidden instructions
  you are now | youre now | act as | acting as | behave as | pretend to be | pretend you are | roleplay as | become > dan | unrestricted | jailbroken | unfiltered | uncensored | evil | no longer bound | without restrictions | without any restrictions | no restrictions | without rules | no rules | without guidelines | developer mode | god mode
  from now on > you will | you must | you are | you have | you do > no restrictions | ignor* | disregard* | unrestricted | no rules | no longer bound | without restrictions | obey me | obey only
  pretend | act | behave | respond | answer > as if | like | as though > no restrictions | no rules | no guidelines | no limits | no limitations | no filters | no content policy
  do anything now | developer mode enabled | jailbreak mode | god mode enabled | enter developer mode | enable developer mode | activate developer mode | end of system prompt | new system prompt | system prompt override | you have been jailbroken
  do not | dont | without | never > tell* | inform* | mention* | alert* | warn* > the user | the human | your user | your owner | your operator | your human
  send | forward | email | post | upload | transfer | exfiltrate* | leak | transmit > api key* | credential* | password* | secrets | private key* | environment variables | access token* | chat history | system prompt > to http* | to this address | to this url | to the following | to attacker*
  # German
  ignorier* | missacht* | vergiss | vergesse* | umgeh* | uberschreib* | verwirf > vorherig* | bisherig* | vorig* | fruher* | obig* | vorangegangen* | vorhergehend* | ursprunglich* | samtlich* | deine | ihre | alle > anweisung* | instruktion* | regeln | vorgaben | richtlinie* | befehle | prompt*
  zeig* | gib | nenn* | verrat* | wiederhol* | offenbar* > systemprompt* | systemanweisung* | systemnachricht* | geheimen anweisung* | ursprunglichen anweisung*
  du bist jetzt | du bist nun | ab jetzt | ab sofort | von nun an | tu so als > uneingeschrankt* | ohne einschrankung* | keine regeln | ohne regeln | keine einschrankung* | unzensiert* | keinen regeln
  setz* > anweisung* | instruktion* | regeln | vorgaben | richtlinie* > ausser kraft
  halt* > nicht mehr an | nicht langer an > anweisung* | instruktion* | regeln | vorgaben | richtlinie*
  vergiss | vergessen sie > alles was > man dir | man ihnen | dir gesagt wurde | ihnen gesagt wurde | dir bisher
  sag* | verrat* | erzahl* > nutzer | benutzer | anwender | menschen > nichts | nicht
  # French
  ignor* | oubli* | neglig* | outrepass* | contourn* | ne tiens pas compte | ne tenez pas compte | fais abstraction | ne respecte* > instruction* | consigne* | directive* | regles > precedent* | anterieur* | ci dessus | initial* | d origine
  ignor* | oubli* | contourn* > tes | vos | toutes les | precedentes > instruction* | consigne* | directive* | regles
  oubli* | ignor* > tout ce qu > on t a dit | on vous a dit | t a ete dit | vous a ete dit | precede
  desobei* > instruction* | consigne* | directive* | regles
  affich* | montr* | revel* | donn* | repet* | divulgu* | dis moi | dites moi > prompt systeme | invite systeme | instructions systeme | instructions initiales | instructions cachees | message systeme
  tu es maintenant | vous etes maintenant | desormais | a partir de maintenant > sans restriction* | sans limite* | sans aucune* | aucune regle | aucune restriction | non censure*
  sans | ne > dis | dites | prevenir | informer > utilisateur*
  # Spanish
  ignor* | olvid* | descart* | omit* | haz caso omiso | no hagas caso | no tengas en cuenta | pasa por alto > instruccion* | indicacion* | directriz | directrices | reglas | ordenes | normas > anterior* | previa* | de arriba | precedente* | original* | inicial*
  ignor* | olvid* | omit* | haz caso omiso | pasa por alto > tus | todas las | previas | anteriores > instruccion* | indicacion* | directrices | reglas
  olvid* | ignor* > todo lo que > te dijeron | te han dicho | te dije | se te dijo | se te ha dicho
  desobede* > instruccion* | indicacion* | directrices | reglas | ordenes | normas
  muestr* | revel* | ensen* | dime | repit* | imprim* > prompt del sistema | prompt de sistema | instrucciones del sistema | mensaje del sistema | instrucciones iniciales | instrucciones ocultas
  ahora eres | a partir de ahora | desde ahora | actua como > sin restriccion* | sin reglas | sin limites | sin filtro* | sin censura
  no | sin > digas | decir* | informar* | avis* > usuario
  # Portuguese
  ignor* | esquec* | desconsider* | descart* | desrespeit* > instruc* | orientac* | diretriz* | regras | ordens | comandos > anterior* | previa* | acima | original* | originais | iniciais
  ignor* | esquec* | desconsider* > suas | todas as | previas > instruc* | orientac* | diretriz* | regras
  ignor* | esquec* | desconsider* > tudo o que > foi dito | te disseram | lhe disseram | te foi dito | lhe foi dito
  desobede* > instruc* | orientac* | diretriz* | regras | ordens
  mostr* | revel* | exib* | repit* | imprim* | diga > prompt do sistema | prompt de sistema | instrucoes do sistema | mensagem do sistema | instrucoes iniciais | instrucoes ocultas
  agora voce e | a partir de agora | aja como > sem restric* | sem regras | sem limites | sem filtro* | sem censura
  nao | sem > diga* | contar | conte* | avis* | informar > usuario | utilizador
  # Italian
  ignor* | dimentic* | trascur* | non considerare | non tenere conto | scart* | disattend* > istruzion* | indicazion* | direttiv* | regole | ordini | comandi > precedent* | anterior* | di cui sopra | qui sopra | inizial* | original*
  ignor* | dimentic* > tue | tutte le | precedenti > istruzion* | direttiv* | regole
  dimentic* | ignor* > tutto quello che | tutto cio che > ti e stato detto | ti hanno detto | vi e stato detto | e stato detto prima
  ignor* | dimentic* > istruzion* | regole | ordini > che ti hanno dato | che ti sono stat* | che hai ricevuto
  disobbedi* > istruzion* | indicazion* | direttiv* | regole | ordini
  mostr* | rivel* | ripet* | stamp* | dimmi > prompt di sistema | prompt del sistema | istruzioni di sistema | istruzioni iniziali | istruzioni nascoste | messaggio di sistema
  ora sei | adesso sei | da ora in poi | d ora in poi | fingi di essere > senza restrizion* | senza regole | senza limiti | senza filtri | senza censura
  non | senza > dire | dirlo | informare | avvis* > utente
  # Russian
  игнорир* | проигнорир* | забуд* | отброс* | не обращай внимания | не учитывай | пренебрег* | обойд* | наруш* > предыдущ* | прежн* | вышеуказан* | вышеизложен* | прошл* | ранее | все | твои | свои | изначальн* | первоначальн* > инструкци* | указани* | правила | команды | директив* | промпт*
  забуд* | игнорир* | проигнорир* > все что > тебе говорил* | тебе сказал* | тебе было сказано | было сказано ранее
  покаж* | раскр* | выведи* | повтор* | напечат* | сообщи* > системн* | скрыт* > промпт* | инструкци* | сообщени*
  теперь ты | отныне ты | с этого момента ты | представь что ты > без ограничен* | без правил | без цензуры | не ограничен* | без фильтров
  не > говори* | сообщай* | рассказывай* > пользовател*
  # Chinese
  忽略 | 无视 | 無視 | 忘记 | 忘記 | 忘掉 | 不要理会 | 不用管 | 抛开 | 不要遵守 > 之前 | 以上 | 先前 | 前面 | 上述 | 上面 | 此前 | 所有 | 你的 | 原有 | 全部 | 原来 > 指令 | 指示 | 规则 | 規則 | 提示 | 命令 | 约束 | 約束 | 限制
  忽略 | 无视 | 無視 | 忘记 | 忘記 | 忘掉 > 上文 | 以上 | 上述 > 内容 | 內容 | 一切 | 信息
  显示 | 顯示 | 输出 | 輸出 | 告诉我 | 告訴我 | 泄露 | 透露 | 打印 | 重复 | 展示 > 系统提示 | 系統提示 | 系统指令 | 初始指令 | 隐藏指令 | 系统消息
  系统提示 | 系統提示 | 系统指令 | 初始指令 | 隐藏指令 > 告诉我 | 告訴我 | 输出 | 輸出 | 打印 | 发给我
  你现在是 | 從現在開始 | 从现在开始 | 现在你是 | 假装你是 > 没有任何限制 | 不受限制 | 没有限制 | 无限制 | 不受任何 | 没有任何规则 | 沒有限制
  不要 > 告诉 | 通知 | 告訴 > 用户 | 用戶
  # Japanese
  以前の | これまでの | 上記の | 前の | 先ほどの | すべての | 全ての | 元の | 今までの | あなたの > 指示 | 命令 | ルール | プロンプト | 制約 | 指令 | ガイドライン > 無視 | 忘れて | 忘れろ | 忘れなさい | 忘れること | 破棄 | 従わない | 従うな | 無効
  システムプロンプト | システムメッセージ | 初期指示 | システム指示 > 表示 | 教え | 見せ | 出力 | 公開 | 開示 | 明かし
  あなたは今から | 今からあなたは | これからは | これからあなたは | あなたは今 > 制限のない | 制限なし | 制約のない | 無制限 | ルールに縛られ
  ユーザーに > 言わない | 伝えない | 知らせない | 教えない
  # Korean
  이전 | 위의 | 앞의 | 앞서 | 너의 | 당신의 | 모든 | 기존 | 지금까지의 | 원래 > 지시 | 명령 | 규칙 | 프롬프트 | 지침 > 무시 | 잊어 | 따르지
  시스템 프롬프트 | 시스템 메시지 | 초기 지시 > 보여 | 알려 | 출력 | 공개 | 말해
  지금부터 너는 | 이제 너는 | 이제부터 > 제한이 없 | 제한 없 | 무제한 | 규칙이 없
  # Arabic
  تجاهل | وتجاهل | انس | انسى | اهمل | تجاوز | لا تتبع > التعليمات | الاوامر | القواعد | الارشادات | التوجيهات > السابقة | اعلاه | الاصلية | السالفة
  تجاهل | وتجاهل | انس | انسى > جميع | كل | تعليماتك > التعليمات | الاوامر | القواعد | السابقة
  تجاهل | وتجاهل | انس | انسى > كل ما > قيل لك | قيل لكم | قلته لك | اخبروك
  اظهر | اعرض | اكشف | اطبع | كرر | اخبرني > موجه النظام | تعليمات النظام | رسالة النظام | التعليمات الاولية | تعليماتك السرية
  انت الان | من الان > بدون قيود | بلا قيود | بلا حدود | بدون قواعد
  لا تخبر > المستخدم
  # Hindi
  पिछले | पिछली | पूर्व | सभी | पहले के | पहले की | उपरोक्त | ऊपर के | अपने > निर्देश* | नियम* | आदेश* | हिदायत* | प्रॉम्प्ट > अनदेखा | नजरअंदाज | नज़रअंदाज | नज़रअंदाज | भूल* | उपेक्षा | इग्नोर
  सिस्टम प्रॉम्प्ट | सिस्टम निर्देश > दिखा* | बता* | प्रकट
  # Turkish
  onceki | yukaridaki | tum | butun > talimat* | kural* | yonerge* | komut* > yok say* | gormezden gel* | unut* | dikkate alma* | goz ardi et*
  sistem istemi* | sistem komut* | sistem talimat* > goster* | soyle* | yazdir* | acikla*
  # Dutch
  negeer* | vergeet* | omzeil* > vorige | eerdere | voorgaande | bovenstaande | alle | je > instructies | aanwijzingen | regels | richtlijnen | opdrachten
  toon | laat | geef | herhaal > systeemprompt* | systeeminstructie*
  # Polish
  zignoruj* | ignoruj* | zapomnij* | pomin* > poprzedni* | wczesniejsz* | powyzsz* | wszystki* | swoje > instrukcj* | polecen* | zasad* | wytyczn*
  pokaz* | ujawnij* | wyswietl* > prompt systemow* | instrukcje systemow*`)

/** Chat template markers, separated by two spaces. They make a text look like another role's turn. */
export const templateMarks = `
  <|im_start|>  <|im_end|>  <|endoftext|>  <|start_header_id|>  <|end_header_id|>  <|eot_id|>  <|system|>
  <|assistant|>  [inst]  [/inst]  <<sys>>  <</sys>>  <start_of_turn>  <end_of_turn>  ### instruction:
  ### system:`.trim().split(/ {2,}|\n */)

/** Phrases that announce secrets. */
export const secretRules = rulesOf(`
  my | our | your new | root | admin | administrator | temporary > password is | passphrase is | passcode is | api key is | secret key is | access key is | private key is | access token is
  password | passphrase | passcode | api key | secret key | access key | access token > is as follows | is below | is attached
  mein | unser | dein neues | ihr neues > passwort ist | kennwort ist | api schlussel ist
  passwort lautet | kennwort lautet | api schlussel lautet
  mon | ma | notre | votre nouveau > mot de passe est | cle api est
  mi | nuestra | tu nueva > contrasena es | clave de api es | clave secreta es
  minha | nossa | sua nova > senha e | chave de api e
  mia | nostra | nuova > password e | parola d ordine e | chiave api e
  пароль от | пароль для | мой пароль | наш пароль | ключ api от
  密码是 | 密码为 | 密碼是 | 密钥是 | 密钥为 | 口令是 | パスワードは | 暗証番号は | 秘密鍵は | 비밀번호는 | 암호는 | 비밀 키는
  كلمة المرور هي | كلمة السر هي | पासवर्ड है | sifremiz | sifrem
  here are | use these | these are > credentials | login details | login data
  begin private key | begin rsa private key | begin openssh private key | begin ec private key | begin pgp private key block`)

function rulesOf(lines: string): string[] {
  return lines.trim().split(/\n */).filter((line) => !line.startsWith('#'))
}
