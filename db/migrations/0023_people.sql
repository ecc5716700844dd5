-- The type was a mark that anybody could set, and their keys worked like any other. It now stands for a person, who has no key.
UPDATE `agents` SET `type` = 'mcp' WHERE `type` = 'human';
