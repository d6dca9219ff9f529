-- Databases are kept outside of projects now: nobody else can have made one, so none needs a name.
DROP TABLE IF EXISTS store_names;
